import { conditionsSentence, type MergeConditionsInput, type MergeRequest } from "@reins/client"
import { argument, choice, flag, option, whole } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { remoteCommand } from "./Remote.js"

const methods = ["merge", "squash", "rebase"] as const

/** `reins merge-requests conditions` */
export const conditions = remoteCommand({
  takes: {
    request: argument("merge-request", "The id of a merge request"),
    checks: choice("checks", ["required", "all", "none"], "The checks that have to pass (required)"),
    approvals: whole("approvals", "The approvals of this very commit by people who may write (0)", [0, 10]),
    threads: choice("threads", ["resolved", "any"], "Threads about lines: all resolved, or any (resolved)"),
    verdict: choice(
      "verdict",
      ["member", "delegation", "none"],
      "The one who has to approve the changeset in Reins (none)"
    ),
    heads: choice("heads", ["own", "any"], "Merge only commits that the session delivered, or any (own)"),
    method: choice("method", methods, "How to merge (merge)"),
    branch: choice("branch", ["keep", "delete"], "Keep the branch after the merge, or delete it (keep)"),
    "max-wait": option("max-wait", "Give up after this time, as in 90m, 12h or 7d", { value: "time" }),
    again: flag("again", "Set them again as they were"),
    off: flag("off", "Take them back"),
    json: flag("json", "A line of JSON in the place of text")
  },
  details:
    "The request is merged by itself once all of them hold at one commit. A rule of the forge comes on top.\n" +
    "Without options it says what they wait for. Options that you leave out stay as they are.",
  examples: [
    ["reins merge-requests conditions mr_01h… --checks all --approvals 1", "Merge when green, and approved once"],
    ["reins merge-requests conditions mr_01h… --off", "Merge it yourself after all"]
  ],
  run: async ({ json, request: merge_request_id, ...given }, connect) => {
    const changes = changesOf(given)
    if (given.off && (given.again || Object.keys(changes).length > 0))
      throw new CommandFailed({ message: "--off goes alone. Leave out the other options." })
    const { reins } = await connect()
    const before = await reins.mergeRequests.get({ merge_request_id })
    if (given.off && before.conditions === null) throw new CommandFailed({ message: "It has no merge conditions." })
    if (given.again && before.conditions === null)
      throw new CommandFailed({ message: "It had no merge conditions. Set them with --checks all." })
    if (given.off) return told((await reins.mergeRequests.removeConditions({ merge_request_id })).merge_request, json)
    if (!given.again && Object.keys(changes).length === 0) return told(before, json)
    const terms = { ...termsOf(before), ...changes, merge_request_id }
    told((await reins.mergeRequests.setConditions(terms)).merge_request, json)
  }
})

const told = (request: MergeRequest, json: boolean): void => {
  const sentence = conditionsSentence(request) || "It has no merge conditions. Nothing merges it by itself."
  if (json) printJsonNow(request)
  else process.stdout.write(`${harmless(sentence)}\n`)
}

interface Options {
  readonly checks: MergeConditionsInput["checks"]
  readonly approvals: number | undefined
  readonly threads: "resolved" | "any" | undefined
  readonly verdict: "member" | "delegation" | "none" | undefined
  readonly heads: MergeConditionsInput["heads"]
  readonly method: MergeConditionsInput["method"]
  readonly branch: "keep" | "delete" | undefined
  readonly "max-wait": string | undefined
}

const changesOf = ({
  approvals,
  branch,
  checks,
  heads,
  method,
  threads,
  verdict,
  ...given
}: Options): MergeConditionsInput => ({
  ...(checks !== undefined && { checks }),
  ...(approvals !== undefined && { approvals }),
  ...(threads !== undefined && { threads_resolved: threads === "resolved" }),
  ...(verdict !== undefined && { verdict: verdict === "none" ? null : { from: verdict } }),
  ...(heads !== undefined && { heads }),
  ...(method !== undefined && { method }),
  ...(branch !== undefined && { delete_branch: branch === "delete" }),
  ...(given["max-wait"] !== undefined && { max_wait_seconds: secondsOf(given["max-wait"]) })
})

/** The conditions of a request as the input that sets them again. */
const termsOf = ({ conditions }: MergeRequest): MergeConditionsInput => {
  if (conditions === null) return {}
  const { approvals, checks, delete_branch, heads, max_wait_seconds, method, threads_resolved, verdict } = conditions
  return { approvals, checks, delete_branch, heads, max_wait_seconds, method, threads_resolved, verdict }
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
const mostSeconds = 30 * 86_400

const secondsOf = (text: string): number => {
  const [, digits, unit = ""] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  const seconds = Number(digits) * (units[unit] ?? Number.NaN)
  if (seconds >= 60 && seconds <= mostSeconds) return seconds
  throw new CommandFailed({ message: `--max-wait has to be a time from 1m to 30d, as in 90m, 12h or 7d.` })
}
