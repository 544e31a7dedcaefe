import { type Care, type CareInput, careSentence, type Reins, ReinsApiError } from "@reins/client"
import { argument, choice, flag, option, options, whole } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { liveProgress } from "../terminal/Progress.js"
import { harmless } from "../terminal/Style.js"
import { budgetForms, budgetOf } from "./Budgets.js"
import { reasonText } from "./ErrorSentences.js"
import { readCared } from "./FollowRequest.js"
import { remoteCommand } from "./Remote.js"
import { requireYes, yes } from "./SessionState.js"

const request = argument("merge-request", "The id of a merge request")
const json = flag("json", "A line of JSON in the place of text")

export const careWords = ["fix", "propose", "off"] as const

const deliverWords = ["own-turns", "every-turn"] as const

/** `reins merge-requests care` */
export const care = remoteCommand({
  takes: {
    request,
    checks: choice("checks", careWords, "The way to treat failed checks (off)"),
    reviews: choice("reviews", careWords, "The way to treat comments of people who may write (off)"),
    conflicts: choice("conflicts", careWords, "The way to treat conflicts with the base branch (off)"),
    "max-turns": whole("max-turns", "The most turns before a person is asked (5)", [1, 20]),
    budget: option("budget", `The most that all turns may spend: ${budgetForms}`, { value: "amount" }),
    reply: choice("reply", ["summary", "off"], "Comment on the merge request, or not (summary)"),
    deliver: choice("deliver", deliverWords, "The turns whose changes are pushed (own-turns)"),
    bot: options("bot", "Take comments of this bot as those of a person; may be repeated", { value: "login" }),
    protect: options("protect", "Files whose changes are only proposed, as in ci/**; may be repeated", {
      value: "pattern"
    }),
    again: flag("again", "Start it again as it was, with all turns unused"),
    off: flag("off", "End it; a turn that runs goes on"),
    json
  },
  details:
    "With fix, a turn of the session works on it, and its change is delivered. With propose, you deliver it.\n" +
    "With --deliver every-turn, your own turns are pushed too, each as one commit.\n" +
    "Without options it says where care stands. Options that you leave out stay as they are. The turns are counted from 0 again.",
  examples: [
    [
      "reins merge-requests care mr_01h… --checks fix --reviews propose",
      "Mend checks, and propose what reviewers want"
    ],
    [
      "reins merge-requests care mr_01h… --checks fix --deliver every-turn",
      "Push the change of each turn, also of yours"
    ],
    ["reins merge-requests care mr_01h… --off", "End it"]
  ],
  run: async ({ json, request: merge_request_id, ...given }, connect) => {
    const changes = careChanges(given)
    if (given.off && (given.again || Object.keys(changes).length > 0))
      throw new CommandFailed({ message: "--off goes alone. Leave out the other options." })
    const { reins } = await connect()
    const before = await careOf(reins, merge_request_id)
    if (given.off) return told(await reins.care.remove({ merge_request_id }), json)
    if (given.again || Object.keys(changes).length > 0) {
      if (given.again && before === undefined)
        throw new CommandFailed({ message: "There was no care before. Start it with --checks fix." })
      return told(await reins.care.start({ ...policyOf(before), ...changes, merge_request_id }), json)
    }
    if (before !== undefined) {
      const { attention } = await readCared(reins, merge_request_id)
      return json ? printJsonNow(before) : print(careSentence(before, attention))
    }
    return json ? printJsonNow(null) : print("Nobody cares for it. Start with --checks fix.")
  }
})

const print = (sentence: string): void => void process.stdout.write(`${harmless(sentence)}\n`)

const told = (care: Care, json: boolean): void => (json ? printJsonNow(care) : print(careSentence(care)))

interface CareOptions {
  readonly checks: CareInput["checks"]
  readonly reviews: CareInput["reviews"]
  readonly conflicts: CareInput["conflicts"]
  readonly "max-turns": number | undefined
  readonly budget: string | undefined
  readonly reply: CareInput["reply"]
  readonly deliver: (typeof deliverWords)[number] | undefined
  readonly bot: ReadonlyArray<string>
  readonly protect: ReadonlyArray<string>
}

const careChanges = ({
  bot,
  budget,
  checks,
  conflicts,
  deliver,
  protect,
  reply,
  reviews,
  ...given
}: CareOptions): CareInput => ({
  ...(checks !== undefined && { checks }),
  ...(conflicts !== undefined && { conflicts }),
  ...(reviews !== undefined && { reviews }),
  ...(given["max-turns"] !== undefined && { max_turns: given["max-turns"] }),
  ...(budget !== undefined && { budget: budgetOf(budget) }),
  ...(reply !== undefined && { reply }),
  ...(deliver !== undefined && {
    deliver: deliver === "every-turn" ? ("every_turn" as const) : ("own_turns" as const)
  }),
  ...(bot.length > 0 && { bots: bot }),
  ...(protect.length > 0 && { protected_paths: protect })
})

/** The policy of a care as the input that starts it again. */
const policyOf = (care: Care | undefined): CareInput => {
  if (care === undefined) return {}
  const { bots, budget, checks, conflicts, deliver, max_turns, protected_paths, reply, rerun_first, reviews } = care
  return { bots, budget, checks, conflicts, deliver, max_turns, protected_paths, reply, rerun_first, reviews }
}

const careOf = async (reins: Reins, merge_request_id: string): Promise<Care | undefined> => {
  const { care_state } = await reins.mergeRequests.get({ merge_request_id })
  return care_state === null ? undefined : reins.care.get({ merge_request_id })
}

/** `reins merge-requests deliver` */
export const deliverProposed = remoteCommand({
  takes: { request, yes, json },
  details: "It asks first, because others see what is pushed. `reins sessions diff` shows the change.",
  examples: [
    ["reins merge-requests deliver mr_01h…", "Push what care has proposed, after a question"],
    ["reins merge-requests deliver mr_01h… --yes", "Push it without a question"]
  ],
  run: async ({ json, request: merge_request_id, yes }, connect) => {
    const { reins } = await connect()
    const found = await reins.mergeRequests.get({ merge_request_id })
    const proposed = await proposedOf(reins, merge_request_id)
    if (proposed === undefined)
      throw new CommandFailed({ message: "Care has proposed no change that is not delivered." })
    await requireYes(`Push the proposed change to ${harmless(found.head_branch)}?`, yes)
    const busy = liveProgress()
    busy.say("Delivering")
    try {
      const { delivery, operation } = await reins.care.deliverAttention({ attention_id: proposed })
      await reins.jobs.wait(operation)
      const done = await reins.deliveries.get({ delivery_id: delivery.id })
      if (json) printJsonNow(done)
      if (done.state !== "succeeded")
        throw new CommandFailed({ message: `The delivery is ${done.state}: ${reasonText(done)}` })
      if (!json) tell(`The change is on the branch ${harmless(found.head_branch)}.`)
    } finally {
      busy.clear()
    }
  }
})

const proposedOf = async (reins: Reins, merge_request_id: string): Promise<string | undefined> => {
  for await (const { id, state } of reins.care.listAttentions({ merge_request_id })) if (state === "proposed") return id
  return undefined
}

const check = argument("check", "The id of a check that failed; `reins merge-requests show` has it")

/** `reins merge-requests log` */
export const log = remoteCommand({
  takes: { check, json },
  details: "Others wrote the log. Secrets that the server knows are struck out of it.",
  examples: [
    ["reins merge-requests log chk_01h…", "The end of the log of a check that failed"],
    ["reins merge-requests log chk_01h… --json | jq .annotations", "Its remarks about lines"]
  ],
  run: async ({ check: check_id, json }, connect) => {
    const { reins } = await connect()
    const found = await reins.mergeRequests.getLog({ check_id }).catch((error: unknown) => {
      if (!(error instanceof ReinsApiError) || error.code !== "result_not_ready") throw error
      throw new CommandFailed({
        message: "There is no log of this check. The server reads those of checks that failed."
      })
    })
    if (json) return printJsonNow(found)
    if (found.truncated) tell("This is the end of the log. The forge has all of it.")
    for (const { line, message, path } of found.annotations)
      process.stdout.write(harmless(`${path}${line === null ? "" : `:${line}`}: ${message}\n`))
    if (found.text === "") return tell("The forge shows no log of it.")
    process.stdout.write(`${harmless(found.text).trimEnd()}\n`)
  }
})

/** `reins merge-requests rerun` */
export const rerun = remoteCommand({
  takes: {
    request,
    check: options("check", "This one alone, by its name or id; may be repeated", { value: "check" }),
    json
  },
  examples: [
    ["reins merge-requests rerun mr_01h…", "Run all failed checks of the head again"],
    ["reins merge-requests rerun mr_01h… --check test", "Run one of them again"]
  ],
  run: async ({ check, json, request: merge_request_id }, connect) => {
    const { reins } = await connect()
    const [first, ...others] = await checkIds(reins, merge_request_id, check)
    const { merge_request, operation } = await reins.mergeRequests.rerun({
      merge_request_id,
      ...(first !== undefined && { check_ids: [first, ...others] })
    })
    const busy = liveProgress()
    busy.say("Asking the forge")
    try {
      const job = await reins.jobs.wait(operation)
      if (job.state !== "succeeded")
        throw new CommandFailed({
          message: `The checks do not run again: ${job.error?.message ?? "no reason was given."}`
        })
    } finally {
      busy.clear()
    }
    if (json) return printJsonNow(await reins.mergeRequests.get({ merge_request_id: merge_request.id }))
    tell(`The checks run again. Follow them: reins merge-requests watch ${merge_request_id}`)
  }
})

/** The ids of checks that are named by name or id. */
const checkIds = async (
  reins: Reins,
  merge_request_id: string,
  wanted: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  if (wanted.length === 0) return []
  const { head_sha } = await reins.mergeRequests.get({ merge_request_id })
  const found = new Map<string, string>()
  for await (const { id, name } of reins.mergeRequests.listChecks({
    merge_request_id,
    limit: 200,
    ...(head_sha !== null && { head_sha })
  })) {
    found.set(id, id)
    found.set(name, id)
  }
  return wanted.map((each) => {
    const id = found.get(each)
    if (id !== undefined) return id
    throw new CommandFailed({
      message: `The head has no check "${each}". See: reins merge-requests show ${merge_request_id}`
    })
  })
}
