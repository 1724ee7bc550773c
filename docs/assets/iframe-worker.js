// Lets the search work where pages are opened from a folder: browsers start no Worker for file://
// pages, so one is played by a hidden frame, which runs the same script and passes messages.
// Where there is a server, the browser's own Worker stays.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onmessageerror = this.onerror = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.parentWorker = this;
      inside.document.open();
      // What a script posts goes to the page; importScripts loads a script before it goes on.
      inside.document.write(
        "<html><body><script>" +
          "var postMessage = data => parentWorker.receive(data);" +
          "var importScripts = (...urls) => Promise.all(urls.map(url => new Promise((done, fail) => {" +
          "  var script = document.createElement('script');" +
          "  script.src = new URL(url, " + JSON.stringify(String(url)) + ");" +
          "  script.onload = done; script.onerror = fail; document.body.appendChild(script); })));" +
          "</scr" + "ipt><script src=" + JSON.stringify(String(url)) +
          " onload='parentWorker.start()'></scr" + "ipt></body></html>"
      );
      inside.document.close();
    }
    start() {
      this.started = true;
      this.waiting.splice(0).forEach((data) => this.postMessage(data));
    }
    postMessage(data) {
      if (!this.started) return void this.waiting.push(data);
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
