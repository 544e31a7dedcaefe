import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { type ApprovalKind, approvalRecordings } from "./ApprovalRecordings.js"

/** An approval that an agent asks for, and what every door has to show of it. */
interface AskedApproval {
  readonly name: string
  /** The input of the tool `permit` of the small agent. */
  readonly asks: Readonly<Record<string, unknown>>
  readonly shows: ReadonlyArray<string>
}

const recorded = (agent: string, kind: ApprovalKind, shows: ReadonlyArray<string>): AskedApproval => {
  const recording = approvalRecordings[agent]?.kinds[kind]
  if (recording?.origin !== "recorded") throw new Error(`There is no recording of ${kind} by ${agent}.`)
  const { after, before, toolCall } = recording
  const named = (sent: object) => ({ ...sent, toolCallId: kind })
  return { name: kind, asks: { toolCall: named(toolCall), before: before.map(named), after: after.map(named) }, shows }
}

const made = (name: string, toolCall: object, shows: ReadonlyArray<string>): AskedApproval => ({
  name,
  asks: { toolCall: { toolCallId: name, kind: "other", ...toolCall } },
  shows
})

const lines = Array.from({ length: 900 }, (_, at) => `line ${at}`)

/** One of each kind, as real agents ask, one that says nothing, long ones, and one that hides what it does. */
export const askedApprovals: ReadonlyArray<AskedApproval> = [
  recorded("beta", "edit", ["src/a.ts", "let a = 1", "let a = 2"]),
  recorded("beta", "command", ["npm test > out.txt"]),
  recorded("claude", "fetch", ["https://example.com/page"]),
  recorded("alpha", "mcp", ["tickets_close", "7", "done"]),
  made("unknown", { title: "Do something" }, ["Do something", "The agent says no more about it than this title."]),
  made(
    "far edit",
    {
      kind: "edit",
      title: "Edit files",
      content: [
        {
          type: "diff",
          path: "/w/long.ts",
          oldText: lines.join("\n"),
          newText: lines.with(800, "changed here").join("\n")
        }
      ]
    },
    ["/w/long.ts", "line 800", "changed here"]
  ),
  made("long command", { kind: "execute", title: "Run", rawInput: { command: `echo ${"x".repeat(20_000)}` } }, [
    "echo xxx"
  ]),
  made(
    "hidden command",
    { kind: "execute", title: "Run \u202esl", rawInput: { command: "rm \u202e-rf\u2066 \u001b[2J/w\u200b" } },
    ["rm \\u202e-rf\\u2066 \\u001b[2J/w\\u200b"]
  )
]

/** A message whose turn asks for all of them, one after the other. */
export const asksForAll = script("Ask.", ...askedApprovals.map(({ asks }) => ({ tool: "permit", args: asks })), {
  say: "Asked."
})
