import { assert, describe, it } from "@effect/vitest"
import { OriginList, ProxyUrl } from "@reins/server/SettingValues"
import { Schema } from "effect"

const isTaken = (text: string) => Schema.decodeUnknownEither(OriginList)(text)._tag === "Right"

describe("the origins whose pages may call", () => {
  it("may be of desktop programs, editors and extensions", () => {
    for (const origin of [
      "https://app.example.com",
      "http://localhost:5173",
      "http://[::1]:3000",
      "tauri://localhost",
      "app://obsidian.md",
      "capacitor://localhost",
      "chrome-extension://dofdpnoclkigpakdndmhigfojjecnfln",
      "moz-extension://6a3f0b1c-1d2e-4f50-8a9b-0c1d2e3f4a5b",
      "vscode-webview://1abc",
      "https://a.example, tauri://localhost"
    ])
      assert.isTrue(isTaken(origin), origin)
  })

  it("are origins and nothing more", () => {
    for (const wrong of [
      "*",
      "null",
      "app.example.com",
      "https://app.example.com/",
      "https://app.example.com/path",
      "https://App.example.com",
      "https://app.example.com:443",
      "https://user@app.example.com",
      "https://*.example.com",
      "tauri://localhost/",
      "tauri://",
      "tauri:localhost",
      "TAURI://localhost",
      "app://a b",
      "app://a?b",
      "file:///etc",
      "data:text/html,x",
      "javascript://x",
      "blob:https://app.example.com/x"
    ])
      assert.isFalse(isTaken(wrong), wrong)
  })
})

describe("the proxy that is the way out", () => {
  const isProxy = (text: string) => Schema.decodeUnknownEither(ProxyUrl)(text)._tag === "Right"

  it("is a URL with a host, and a name and a password if it has them", () => {
    for (const right of [
      "http://proxy.example:3128",
      "https://proxy.example",
      "http://[::1]:3128/",
      "http://10.0.0.1:8080",
      "http://name:p%40ss%3Aw%2Frd@proxy.example:3128",
      "http://name@proxy.example:3128",
      "http://dom%5Cname:gr%C3%BCn@proxy.example:3128"
    ])
      assert.isTrue(isProxy(right), right)
  })

  it("is nothing else", () => {
    for (const wrong of [
      "",
      "proxy.example:3128",
      "proxy",
      "3128",
      "socks5://proxy.example:1080",
      "socks://proxy.example",
      "ftp://proxy.example",
      "http://",
      "http://:3128",
      "http://proxy.example:99999",
      "http://proxy.example:port",
      "http://proxy.example/path",
      "http://proxy.example?x=1",
      "http://proxy.example#x",
      "http://a b:3128",
      "http://name:50%@proxy.example:3128",
      "http://name:%zz@proxy.example:3128",
      "http://name:%ff@proxy.example:3128",
      "file:///etc/proxy",
      "//proxy.example:3128"
    ])
      assert.isFalse(isProxy(wrong), wrong)
  })
})
