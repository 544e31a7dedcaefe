import fc from "fast-check"
import { assert, describe, it } from "vitest"
import { lastLines, piecesOf } from "../src/tools/Ansi.js"
import { editsIn, planIn, shortPath, shortPaths, toolLine } from "../src/tools/ToolLine.js"

const root = "/var/lib/reins/sessions/sess_01k00000000000000000000023/workspace"

describe("a tool call in a line", () => {
  it("is a verb and a subject, which are said once, with paths inside of the working tree", () => {
    const line = (title: string, input: unknown, kind = "other") => {
      const { subject, verb } = toolLine({ kind, title, input })
      return [verb, subject]
    }
    assert.deepStrictEqual(line("bash", { command: "npm test", cwd: root }, "execute"), ["Run", "npm test"])
    assert.deepStrictEqual(line("npm test", { command: "npm test" }, "execute"), ["Run", "npm test"])
    assert.deepStrictEqual(line("shell", { command: ["bash", "-lc", "ls -la"] }, "execute"), ["Run", "ls -la"])
    assert.deepStrictEqual(line("cat", { cmd: `cat ${root}/src/a.ts` }), ["Run", "cat src/a.ts"])
    assert.deepStrictEqual(line("edit", { filePath: `${root}/src/a.ts` }, "edit"), ["Edit", "src/a.ts"])
    assert.deepStrictEqual(line("write", { path: "b.js", content: "1" }, "edit"), ["Write", "b.js"])
    assert.deepStrictEqual(line("Read", { file_path: `${root}/README.md` }, "read"), ["Read", "README.md"])
    assert.deepStrictEqual(line("grep", { pattern: "TODO", path: root }, "search"), ["Search", "TODO"])
    assert.deepStrictEqual(line("webfetch", { url: "https://a.example" }, "fetch"), ["Fetch", "https://a.example"])
    assert.deepStrictEqual(line("elicit", {}), ["elicit", ""])
  })

  it("has the words of people for the tools of Reins, whatever an agent puts before their names", () => {
    const line = (title: string, input: unknown) => {
      const { subject, verb } = toolLine({ kind: "other", title, input })
      return [verb, subject]
    }
    for (const before of ["reins_", "mcp__reins__", "reins/", "reins.", "reins: "])
      assert.deepStrictEqual(line(`${before}publish_artifact`, { path: "chart.png", title: "The chart" }), [
        "Publish",
        "The chart"
      ])
    assert.deepStrictEqual(line("reins_wait", {}), ["Wait for the delegated sessions", ""])
    assert.deepStrictEqual(line("reins_toString", {}), ["toString", ""])
    assert.deepStrictEqual(line("tickets_publish_artifact", {}), ["tickets_publish_artifact", ""])
  })

  it("leaves other paths as they are", () => {
    assert.strictEqual(shortPath("/etc/hosts"), "/etc/hosts")
    assert.strictEqual(shortPath(root), ".")
    assert.strictEqual(shortPaths(`cd ${root} && ls ${root}/src`), "cd . && ls src")
    assert.strictEqual(shortPaths("ls /tmp/workspace"), "ls /tmp/workspace")
  })

  it("tells the change of a file by the words of any agent", () => {
    assert.deepStrictEqual(editsIn({ filePath: `${root}/a`, oldString: "1", newString: "2" }), [
      { path: "a", before: "1", after: "2" }
    ])
    assert.deepStrictEqual(editsIn({ path: "b", content: "x" }), [{ path: "b", before: null, after: "x" }])
    assert.deepStrictEqual(editsIn({ command: "ls" }), [])
  })

  it("is a plan where the agent writes one down", () => {
    assert.deepStrictEqual(
      planIn({
        todos: [
          { content: "Look", status: "completed", priority: "high", id: "1" },
          { content: "Write", status: "in_progress" },
          { content: "Test", status: "pending" }
        ]
      }),
      [
        { content: "Look", status: "completed" },
        { content: "Write", status: "in_progress" },
        { content: "Test", status: "pending" }
      ]
    )
    assert.deepStrictEqual(planIn({ plan: [{ step: "Look", status: "completed" }] }), [
      { content: "Look", status: "completed" }
    ])
    assert.isUndefined(planIn({ todos: [] }))
    assert.isUndefined(planIn({ todos: ["a"] }))
    assert.isUndefined(planIn({ command: "ls" }))
  })

  it("is drawn of any input without a failure", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.anything(), (kind, title, input) => {
        toolLine({ kind, title, input })
        editsIn(input)
        planIn(input)
      })
    )
  })
})

describe("the output of a program", () => {
  it("has the colours of a terminal", () => {
    assert.deepStrictEqual(piecesOf("a \u001b[31mred\u001b[0m b"), [
      ["a ", ""],
      ["red", "ansi-red"],
      [" b", ""]
    ])
    assert.deepStrictEqual(piecesOf("\u001b[1;32mok\u001b[22;39m"), [["ok", "ansi-green ansi-bold"]])
    assert.deepStrictEqual(piecesOf("\u001b[38;5;196mx\u001b[38;2;0;0;255my"), [
      ["x", "ansi-red"],
      ["y", "ansi-blue"]
    ])
  })

  it("shows what a program has written over a line last, and no title of a window", () => {
    assert.deepStrictEqual(piecesOf("10 %\r50 %\r100 %\ndone"), [["100 %\ndone", ""]])
    assert.deepStrictEqual(piecesOf("\u001b]0;title\u0007words\u001b[2K"), [["words", ""]])
    assert.strictEqual(lastLines("1\n2\n3\n", 2), "2\n3")
  })

  it("has nothing left that a terminal obeys, and all words of a plain text", () => {
    const part = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom(
        "\u001b[",
        "\u001b]",
        "\u001b[31m",
        "\u001b[38;5;",
        "m",
        "\u001b",
        "\u0007",
        "\r",
        "\n",
        "\u009b1m"
      )
    )
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = piecesOf(parts.join(""))
          .map(([each]) => each)
          .join("")
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
        assert.notMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
      })
    )
    fc.assert(
      fc.property(fc.stringMatching(/^[ -~\n]*$/), (text) => {
        assert.strictEqual(
          piecesOf(text)
            .map(([each]) => each)
            .join(""),
          text
        )
      })
    )
  })
})
