import type { Interaction, MergeRequest } from "@reins/client"
import { z } from "zod"
import { answer, type Call, type Caller, cut, type Result, refusal, tool } from "./Tool.js"

/** Puts a decision to the person, unless the person lets the assistant decide. Gives the answer of the tool where nobody has decided yet. */
const decided = async (
  { isUnattended }: Caller,
  call: Call,
  question: Parameters<Call["askPerson"]>[0],
  own: string | undefined,
  page: string
): Promise<{ readonly id: string } | { readonly result: Result }> => {
  if (isUnattended)
    return own === undefined
      ? { result: refusal(`invalid: Name an option: ${question.choices.map(({ id }) => id).join(", ")}.`) }
      : { id: own }
  const given = await call.askPerson(question)
  switch (given.kind) {
    case "chosen":
      return { id: given.id }
    case "asking":
      return { result: given.result }
    case "declined":
      return { result: answer({ state: "pending", open: page }, `The person did not decide. It stays open: ${page}`) }
    case "unable":
      return {
        result: answer(
          { state: "pending", open: page },
          `This is for a person to decide. Ask them to open ${page}, then call wait.`
        )
      }
  }
}

const text = (value: string | null): string => (value === null ? "" : `\n\n${cut(value, 1500)}`)

/** The kinds that a person can answer with one of the options. */
const byOption: ReadonlySet<Interaction["kind"]> = new Set(["approval", "question"])

export const answerQuestion = tool({
  name: "answer",
  title: "Answer what an agent asks",
  description:
    "Answers a question of an agent, as wait shows it. The person whom you work for is asked, unless they let you decide by yourself. " +
    "Where their program cannot show the question, the answer names a page for them, and the question stays open.",
  operations: ["interactions.list", "interactions.answer"],
  scope: "write",
  marks: { destructiveHint: true, openWorldHint: false },
  input: {
    session_id: z.string().describe("The session that asks"),
    interaction_id: z.string().describe("The question, as wait gives it"),
    option: z
      .string()
      .optional()
      .describe("The id of the option that you would take. Without your person's leave it is no more than that."),
    content: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
      .optional()
      .describe("The values of a form"),
    note: z.string().max(10_000).optional().describe("Words for the agent beside the answer")
  },
  run: async (caller, { content, interaction_id, note, option, session_id }, call) => {
    const page = `${caller.consoleUrl}/sessions/${session_id}`
    const { items } = await caller.reins.interactions.list({ session_id, state: "pending" })
    const asked = items.find(({ id }) => id === interaction_id)
    if (asked === undefined) return refusal(`not_found: The session asks no question ${interaction_id} now.`)
    if (asked.kind === "tool_call") return refusal("invalid: A program has to answer this call of a function.")
    if (!caller.isUnattended && !byOption.has(asked.kind))
      return answer(
        { state: "pending", open: page },
        `This is for a person to answer. Ask them to open ${page}, then call wait.`
      )
    const choices = asked.options.map(({ id, name }) => ({ id, name }))
    const message = `An agent asks: ${cut(asked.title, 300)}${text(asked.description)}`
    const choice = await decided(caller, call, { message, choices }, option, page)
    if ("result" in choice) return choice.result
    const given = await caller.reins.interactions.answer({
      interaction_id,
      answer: choice.id,
      ...(caller.isUnattended && content !== undefined && { content }),
      ...(note !== undefined && { note })
    })
    return answer({ state: given.state, answer: given.answer })
  }
})

/** Clients give a call up after a minute. */
const deliverySeconds = 40

export const deliver = tool({
  name: "deliver",
  title: "Deliver a changeset",
  description:
    "Pushes a changeset as a branch, and opens a merge request for it when asked. The person whom you work for confirms it, unless they let you decide by yourself. " +
    "`executing` goes on without you: call it again with the same arguments for its end.",
  operations: ["changesets.get", "changesets.deliver", "jobs.get", "deliveries.get", "deliveries.openMergeRequest"],
  scope: "write",
  marks: { destructiveHint: true, openWorldHint: true },
  input: {
    changeset_id: z.string().describe("The changeset, as wait gives it"),
    branch: z.string().max(250).optional().describe("The branch; one of its own when absent"),
    title: z.string().max(500).optional().describe("The subject of the commit"),
    merge_request: z.boolean().default(false).describe("True opens a merge request for the branch")
  },
  run: async (caller, { branch, changeset_id, merge_request, title }, call) => {
    const { reins } = caller
    const changeset = await reins.changesets.get({ changeset_id })
    const page = `${caller.consoleUrl}/sessions/${changeset.session_id}/review/${changeset_id}`
    const where = branch === undefined ? "a branch of its own" : `the branch ${branch}`
    const size = `${changeset.file_count} files, +${changeset.additions} -${changeset.deletions}`
    const message = `Push these changes as ${where}${merge_request ? " and open a merge request" : ""}? ${size}`
    const choices = [
      { id: "deliver", name: "Deliver" },
      { id: "no", name: "Do not deliver" }
    ]
    const choice = await decided(caller, call, { message, choices }, "deliver", page)
    if ("result" in choice) return choice.result
    if (choice.id !== "deliver") return answer({ state: "declined" }, "The person does not want it to be delivered.")
    const { delivery, operation } = await reins.changesets.deliver({
      changeset_id,
      ...(branch !== undefined && { target_ref: branch }),
      ...(title !== undefined && { title })
    })
    await ended(caller, operation, call.signal)
    const { commit, id, reason, reason_message, state, target_ref } = await reins.deliveries.get({
      delivery_id: delivery.id
    })
    const request =
      merge_request && state === "succeeded" ? await reins.deliveries.openMergeRequest({ delivery_id: id }) : undefined
    if (request !== undefined) await ended(caller, request.operation, call.signal)
    const opened = request && (await reins.mergeRequests.get({ merge_request_id: request.merge_request.id }))
    return answer({
      delivery_id: id,
      state,
      branch: target_ref,
      commit,
      reason,
      reason_message,
      merge_request: shownRequest(opened)
    })
  }
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
