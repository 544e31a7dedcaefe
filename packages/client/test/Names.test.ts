import { assert, describe, it } from "@effect/vitest"
import { methodsBy, type Route } from "../src/Route.js"

/**
 * The rule: a method is a verb, with what it acts on where that is not the resource of its group. `list` is for every read that answers a
 * list, `get` for every other read, and a change has the verb of what it does.
 */
const verbs = new Set([
  ...[
    "acknowledge",
    "activate",
    "add",
    "answer",
    "apply",
    "archive",
    "cancel",
    "capture",
    "change",
    "check",
    "claim",
    "close",
    "create"
  ],
  ...[
    "delegate",
    "deliver",
    "delete",
    "disconnect",
    "install",
    "leave",
    "login",
    "logout",
    "merge",
    "open",
    "pause",
    "preview",
    "publish",
    "look",
    "mark",
    "refresh",
    "register"
  ],
  ...[
    "release",
    "remove",
    "replace",
    "replay",
    "reply",
    "rerun",
    "reset",
    "resume",
    "retry",
    "revoke",
    "rotate",
    "send",
    "set",
    "share",
    "start",
    "submit",
    "switch",
    "unarchive",
    "update"
  ],
  ...["upload", "validate", "verify", "wait"]
])

const routes: Array<Route> = []
methodsBy((route) => routes.push(route))

/** `listMergeRequests` as `list` and `MergeRequests`. */
const parted = (method: string) => {
  const [verb = ""] = /^[a-z]+/.exec(method) ?? []
  return { verb, object: method.slice(verb.length) }
}

const one = (word: string): string => word.toLowerCase().replace(/ies$/, "y").replace(/s$/, "")

describe("Names", () => {
  for (const { list, method, name, path } of routes) {
    it(name, () => {
      const [group = "", last = ""] = name.split(".")
      const { object, verb } = parted(last)
      if (method === "GET") assert.strictEqual(verb, list ? "list" : "get")
      else assert.isTrue(verbs.has(verb), `"${verb}" is not a verb that the rule knows`)
      assert.notStrictEqual(one(object), one(group), "the group tells what it acts on")
      // A read acts on what its path names last, in the words of the path.
      if (method !== "GET") return
      const named =
        path
          .replace(/\/\{\w+\}$/, "")
          .split("/{")
          .at(-1)
          ?.split(/[/-]/)
          .map(one) ?? []
      const words = (object === "" ? group : object).split(/(?=[A-Z])/).map(one)
      for (const word of words) assert.include(named, word)
    })
  }

  it("no two operations have the same name", () => {
    const names = routes.map(({ name }) => name)
    assert.deepStrictEqual(names, [...new Set(names)])
  })
})
