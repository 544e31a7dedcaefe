import type { MergeRequest, Reins } from "@reins/client"
import { argument, type Example, flag, option, someArguments } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { liveProgress } from "../terminal/Progress.js"
import { remoteCommand } from "./Remote.js"

const request = argument("merge-request", "The id of a merge request")
const json = flag("json", "A line of JSON in the place of text")

type Answer = Awaited<ReturnType<Reins["mergeRequests"]["reply"]>>

/** Waits for the forge, and gives the merge request. Throws with its reason when it refuses. */
const asked = async (reins: Reins, { merge_request, operation }: Answer, refused: string): Promise<MergeRequest> => {
  const busy = liveProgress()
  busy.say("Asking the forge")
  try {
    const job = await reins.jobs.wait(operation)
    if (job.state !== "succeeded")
      throw new CommandFailed({ message: `${refused} ${job.error?.message ?? "The forge gives no reason."}` })
    return await reins.mergeRequests.get({ merge_request_id: merge_request.id })
  } finally {
    busy.clear()
  }
}

const setDraft = (
  draft: boolean,
  says: { readonly done: string; readonly refused: string },
  examples: readonly [Example, Example]
) =>
  remoteCommand({
    takes: { request, json },
    examples,
    run: async ({ json, request: merge_request_id }, connect) => {
      const { reins } = await connect()
      const answer = await reins.mergeRequests.setReadiness({ merge_request_id, draft })
      const set = await asked(reins, answer, says.refused)
      if (json) printJsonNow(set)
      else tell(says.done)
    }
  })

/** `reins merge-requests ready` */
export const ready = setDraft(false, { done: "It is ready for review.", refused: "It was not marked as ready." }, [
  ["reins merge-requests ready mr_01h…", "Ask people to review it"],
  ["reins merge-requests ready mr_01h… --json | jq .draft", "The same for a program"]
])

/** `reins merge-requests draft` */
export const draft = setDraft(
  true,
  { done: "It is a draft. Nobody can merge it until it is ready.", refused: "It was not converted to a draft." },
  [
    ["reins merge-requests draft mr_01h…", "Keep people from merging it for now"],
    ["reins merge-requests draft mr_01h… --json | jq .draft", "The same for a program"]
  ]
)

/** `reins merge-requests reply` */
export const reply = remoteCommand({
  takes: {
    request,
    thread: option("thread", "Answer in this thread; `reins merge-requests show` has the ids", { value: "id" }),
    json,
    text: someArguments("text", "Your words, in Markdown")
  },
  details:
    "Your words stand on the forge under the account of the connection. Known secrets are struck out. Without --thread they are about the whole.",
  examples: [
    ['reins merge-requests reply mr_01h… "Thank you. It is mended."', "Comment on the whole"],
    ['reins merge-requests reply mr_01h… --thread thr_01h… "It is a float now."', "Answer a reviewer"]
  ],
  run: async ({ json, request: merge_request_id, text, thread }, connect) => {
    const words = text.join(" ")
    if (words.trim() === "") throw new CommandFailed({ message: "Write at least one word." })
    if (words.length > mostText)
      throw new CommandFailed({
        message: `A comment has at most ${mostText} characters, and this has ${words.length}.`
      })
    const { reins } = await connect()
    if (thread !== undefined) await requireThread(reins, merge_request_id, thread)
    const answer = await reins.mergeRequests.reply({
      merge_request_id,
      text: words,
      ...(thread !== undefined && { thread_id: thread })
    })
    const replied = await asked(reins, answer, "Nothing was written.")
    if (json) printJsonNow(replied)
    else tell(`It is on the forge.${replied.web_url === null ? "" : ` See: ${replied.web_url}`}`)
  }
})

const mostText = 4_000

const requireThread = async (reins: Reins, merge_request_id: string, thread: string): Promise<void> => {
  for await (const { id } of reins.mergeRequests.listThreads({ merge_request_id, limit: 200 }))
    if (id === thread) return
  throw new CommandFailed({
    message: `The merge request has no thread "${thread}". See: reins merge-requests show ${merge_request_id}`
  })
}
