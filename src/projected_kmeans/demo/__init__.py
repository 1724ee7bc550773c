"""The demo: built-in data, clustered with and without projection, and compared.

- ``glyphs``      draw the data: labelled images of 40 characters in 18 styles
- ``comparison``  cluster the images by scikit-learn's KMeans and by ProjectedKMeans, measure both
  runs alike, and write the files of the demo

The images are drawn by the program, so that the demo needs no download, and their classes are
known, so that it can measure accuracy. Every image is a function of the seed and its row alone.
Both runs are measured by the same functions on the original pixels. Nothing here prints: the
command ``demo`` does.
"""
