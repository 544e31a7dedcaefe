import type { Delivery, Interaction, MergeRequest, Reins } from "@reins/client"
import { z } from "zod"
import { choiceOf } from "./Asking.js"
import { contentFor } from "./FormContent.js"
import { deliveryText, isShownWhole, questionText, sessionOf } from "./Subjects.js"
import { anId, answer, type Call, type Caller, type PersonalQuestion, type Result, refusal, tool } from "./Tool.js"

/** Puts a decision to the person, unless the person lets the assistant decide. Gives the answer of the tool where nobody has decided yet. */
const decided = async (
  { isUnattended }: Caller,
  call: Call,
  question: PersonalQuestion,
  own: string | undefined
): Promise<{ readonly id: string } | { readonly result: Result }> => {
  const { choices, page } = question
  if (isUnattended)
    return own === undefined
      ? { result: refusal(`invalid: Name an option: ${choices.map(({ id }) => id).join(", ")}.`) }
      : { id: choiceOf(own, choices)?.id ?? own }
  const given = await call.askPerson(question)
  if (given.kind === "chosen") return { id: given.id }
  if (given.kind === "asking") return { result: given.result }
  return { result: answer({ state: "pending", open: page }, undecided[given.kind](page)) }
}

const undecided: Readonly<
  Record<Exclude<Awaited<ReturnType<Call["askPerson"]>>["kind"], "chosen" | "asking">, (page: string) => string>
> = {
  declined: (page) => `The person did not decide. It stays open: ${page}`,
  changed: () =>
    "The agent has changed what it asks for since the person saw it. Call answer again, so that they see it.",
  unclear: (page) => `The answer of the person is none of the options. It stays open: ${page}`,
  shown: (page) => `The person was led to ${page}, and decides there. Call wait.`,
  unable: (page) => `This is for a person to decide. Ask them to open ${page}, then call wait.`
}

/** True for a kind that a person can answer with one of the options. */
export const isAnsweredByOption = ({ kind }: Interaction): boolean => kind === "approval" || kind === "question"

/** A question of an agent as its person sees it, and the session that it is about. */
export const personalQuestion = async (caller: Caller, asked: Interaction) => {
  const page = `${caller.consoleUrl}/sessions/${asked.session_id}`
  const of = await sessionOf(caller.reins, asked.session_id)
  const text = await questionText(caller.reins, of, asked)
  const message = caller.isUnattended || isShownWhole(asked) ? text : `${text}\n\n${elsewhere(page)}`
  const question: PersonalQuestion = { message, choices: choicesOf(caller, asked), page, seen: asked.subject?.digest }
  return { of, question }
}

export const answerQuestion = tool({
  name: "answer",
  title: "Answer what an agent asks",
  description:
    "Answers a question of an agent, as wait shows it. The person whom you work for is asked, unless they let you decide by yourself. " +
    "Where their program cannot show the question, the answer names a page for them, and the question stays open.",
  operations: ["interactions.list", "sessions.get", "sessions.listEvents", "interactions.answer"],
  scope: "write",
  marks: { destructiveHint: true, openWorldHint: false },
  input: {
    session_id: anId.describe("The session that asks"),
    interaction_id: anId.describe("The question, as wait gives it"),
    option: z
      .string()
      .optional()
      .describe("The id of the option that you would take. Without your person's leave it is no more than that."),
    digest: z
      .string()
      .max(100)
      .optional()
      .describe("The digest of the approval, as wait gives it. You need it to allow something by yourself."),
    content: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
      .optional()
      .describe("The values of a form"),
    note: z.string().max(10_000).optional().describe("Words for the agent beside the answer")
  },
  run: async (caller, { content, digest, interaction_id, note, option, session_id }, call) => {
    const asked = await openQuestion(caller.reins, session_id, interaction_id)
    if (asked === undefined) return refusal(`not_found: The session asks no question ${interaction_id} now.`)
    if (asked.kind === "tool_call") return refusal("invalid: A program has to answer this call of a function.")
    const { of, question } = await personalQuestion(caller, asked)
    const current = question.seen
    const choice = await decided(caller, call, question, option)
    if ("result" in choice) return choice.result
    const seen = caller.isUnattended ? digest : current
    if (current !== undefined && seen === undefined && isLeave(asked, choice.id)) return refusal(noDigest)
    const given = await caller.reins.interactions.answer({
      interaction_id,
      answer: choice.id,
      ...(seen !== undefined && { seen }),
      ...(caller.isUnattended && content !== undefined && { content: contentFor(asked.form ?? [], content) }),
      ...(note !== undefined && { note })
    })
    const { repository, session_title } = of
    return answer({
      state: given.state,
      answer: given.answer,
      title: asked.title,
      session_id,
      session_title,
      repository
    })
  }
})

const noDigest =
  "invalid: Name the digest of the approval, as wait shows it, so that you allow nothing that has changed since you have seen it."

/** Said of what words cannot show whole. */
const elsewhere = (page: string): string =>
  `Not all of it is shown here, so it can be refused here and allowed at ${page}.`

const isLeave = ({ options }: Interaction, id: string): boolean =>
  options.find((option) => option.id === id)?.kind.startsWith("allow") ?? false

/** The choices of a person, who allows only what is shown whole; those of an assistant that decides are all options. */
const choicesOf = ({ isUnattended }: Caller, asked: Interaction) => {
  const { options } = asked
  if (isUnattended) return options.map(({ id, name }) => ({ id, name }))
  if (!isAnsweredByOption(asked)) return []
  const isWhole = isShownWhole(asked)
  return options.filter(({ id }) => isWhole || !isLeave(asked, id)).map(({ id, name }) => ({ id, name }))
}

const openQuestion = async (reins: Reins, session_id: string, id: string): Promise<Interaction | undefined> => {
  for await (const each of reins.interactions.list({ session_id, state: "pending", limit: 200 }))
    if (each.id === id) return each
  return undefined
}

/** Clients give a call up after a minute. */
const deliverySeconds = 40

export const deliver = tool({
  name: "deliver",
  title: "Deliver a changeset",
  description:
    "Pushes a changeset as a branch, and opens a merge request for it when asked. The person whom you work for confirms it, unless they let you decide by yourself. " +
    "`executing` goes on without you: call it again with the same arguments for its end.",
  operations: [
    "changesets.get",
    "sessions.get",
    "changesets.deliver",
    "jobs.get",
    "deliveries.get",
    "deliveries.openMergeRequest"
  ],
  scope: "write",
  marks: { destructiveHint: true, openWorldHint: true },
  input: {
    changeset_id: anId.describe("The changeset, as wait gives it"),
    branch: z.string().max(250).optional().describe("The branch; one of its own when absent"),
    title: z.string().max(500).optional().describe("The subject of the commit"),
    merge_request: z.boolean().default(false).describe("True opens a merge request for the branch")
  },
  run: async (caller, { branch, changeset_id, merge_request, title }, call) => {
    const { reins } = caller
    const changeset = await reins.changesets.get({ changeset_id })
    const page = `${caller.consoleUrl}/sessions/${changeset.session_id}/review/${changeset_id}`
    const of = await sessionOf(reins, changeset.session_id)
    const message = deliveryText(of, changeset, { branch, title, isRequested: merge_request })
    const choices = [
      { id: "deliver", name: "Deliver" },
      { id: "no", name: "Do not deliver" }
    ]
    const choice = await decided(caller, call, { message, choices, page }, "deliver")
    if ("result" in choice) return choice.result
    if (choice.id !== "deliver") return answer({ state: "declined" }, "The person does not want it to be delivered.")
    const { delivery, operation } = await reins.changesets.deliver({
      changeset_id,
      ...(branch !== undefined && { target_ref: branch }),
      ...(title !== undefined && { title })
    })
    if (call.startTask !== undefined)
      return call.startTask({
        tool: "deliver",
        delivery: delivery.id,
        job: operation.job_id,
        request: merge_request
      })
    await ended(caller, operation, call.signal)
    const delivered = await reins.deliveries.get({ delivery_id: delivery.id })
    const { id, state } = delivered
    const request =
      merge_request && state === "succeeded" ? await reins.deliveries.openMergeRequest({ delivery_id: id }) : undefined
    if (request !== undefined) await ended(caller, request.operation, call.signal)
    const opened = request && (await reins.mergeRequests.get({ merge_request_id: request.merge_request.id }))
    return answer(deliveredFields(of, delivered, opened))
  }
})

/** The answer for a delivery, with its merge request where one was opened. */
export const deliveredFields = (
  { repository, session_id, session_title }: Awaited<ReturnType<typeof sessionOf>>,
  { changeset_id, commit, id, reason, reason_message, state, target_ref }: Delivery,
  opened?: MergeRequest
) => ({
  delivery_id: id,
  session_id,
  session_title,
  repository,
  changeset_id,
  state,
  branch: target_ref,
  commit,
  reason,
  reason_message,
  merge_request: shownRequest(opened)
})

const shownRequest = (opened: MergeRequest | undefined) =>
  opened === undefined ? null : { id: opened.id, title: opened.title, base_branch: opened.base_branch }

/** Waits for the end of a job as long as a client waits for a call. The job goes on either way. */
const ended = async (
  { reins, stopping }: Caller,
  job: Parameters<Caller["reins"]["jobs"]["wait"]>[0],
  withdrawn: AbortSignal
): Promise<void> => {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), deliverySeconds * 1000)
  const signal = AbortSignal.any([late.signal, withdrawn, ...(stopping === undefined ? [] : [stopping])])
  try {
    await reins.jobs.wait(job, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
}
