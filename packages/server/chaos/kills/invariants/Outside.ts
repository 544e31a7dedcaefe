import { Schema } from "effect"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"

const Delivery = Schema.Struct({
  id: Schema.String,
  target_ref: Schema.String,
  state: Schema.String,
  commit_sha: Schema.NullOr(Schema.String)
})
const MergeRequest = Schema.Struct({ id: Schema.String, delivery_id: Schema.String, state: Schema.String })
const MailJob = Schema.Struct({ id: Schema.String, state: Schema.String, abandoned: Schema.Number })

/** Every request to others was carried out exactly once: each branch, merge request, merge and mail. */
export const holdsOutside = async (installation: Installation): Promise<void> => {
  await holdsBranches(installation)
  await holdsMergeRequests(installation)
  await holdsMails(installation)
}

/** The moves of a branch of the remote since its updates are written down, oldest first: each commit, and who has committed it. */
const movesOf = (installation: Installation, branch: string) =>
  installation.origin
    .git("reflog", "show", "--format=%H %cn", `refs/heads/${branch}`)
    .split("\n")
    .filter((line) => line !== "")
    .reverse()
    .map((line) => ({ commit: line.slice(0, line.indexOf(" ")), by: line.slice(line.indexOf(" ") + 1) }))

/** The person who pushes to branches of the remote besides. */
const person = "Ann"

/** The commits of the service that a branch was moved to. Each is on top of the commit before, whoever made that. */
const pushesOf = (installation: Installation, branch: string): ReadonlyArray<string> => {
  const moves = movesOf(installation, branch)
  for (const [index, { commit }] of moves.entries()) {
    const before = moves[index - 1]?.commit
    if (before !== undefined)
      assert.strictEqual(installation.origin.git("merge-base", before, commit), before, `${branch} was moved on`)
  }
  return moves.filter(({ by }) => by !== person).map(({ commit }) => commit)
}

const holdsBranches = async (installation: Installation): Promise<void> => {
  const deliveries = await installation.records.all(
    Delivery,
    "select id, target_ref, state, commit_sha from deliveries where transport = 'git_branch' order by id"
  )
  const branches = installation.origin
    .git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/reins")
    .split("\n")
    .filter((branch) => branch !== "")
  for (const { id, state } of deliveries) assert.strictEqual(state, "succeeded", `${id} is delivered`)
  // A later delivery to the same branch is a commit on top of its head.
  for (const branch of new Set(deliveries.map(({ target_ref }) => target_ref))) {
    const commits = deliveries
      .filter(({ target_ref }) => target_ref === branch)
      .map(({ commit_sha }) => commit_sha ?? "no commit")
    assert.deepStrictEqual(pushesOf(installation, branch), commits, `the pushes of ${branch}`)
    const last = movesOf(installation, branch).at(-1)?.commit
    assert.strictEqual(installation.origin.headOf(branch), last, `the head of ${branch}`)
  }
  assert.includeMembers(
    deliveries.map((delivery) => delivery.target_ref),
    branches
  )
}

const holdsMergeRequests = async (installation: Installation): Promise<void> => {
  const requests = await installation.records.all(MergeRequest, "select id, delivery_id, state from merge_requests")
  const { pulls } = installation.origin.forge
  assert.isAtMost(pulls.length, requests.length, "the merge requests on the forge")
  for (const { delivery_id, state } of requests) {
    const own = pulls.filter((pull) => pull.body.includes(`Reins-Delivery: ${delivery_id}`))
    assert.deepStrictEqual(
      own.map((pull) => pull.state),
      [state]
    )
  }
  const merges = pulls.filter((pull) => pull.state === "merged").length
  const moves = movesOf(installation, "main").filter(({ by }) => by !== person).length
  assert.strictEqual(moves, merges, "the merges into main")
}

/**
 * A mail server cannot be asked what it took: a mail is there once, or again under its own Message-ID when the server was killed
 * between the mail server's word and its record.
 */
const holdsMails = async (installation: Installation): Promise<void> => {
  const jobs = await installation.records.all(
    MailJob,
    `select id, state, (select cast(count(*) as integer) from attempts where job_id = jobs.id and state = 'abandoned') as abandoned
    from jobs where kind = 'mail.send'`
  )
  for (const { abandoned, id, state } of jobs) {
    const received = installation.mail.mails.filter((mail) => mail.messageId === `<${id}@example.com>`).length
    assert.strictEqual(state, "succeeded", `the mail of ${id}`)
    assert.isAtLeast(received, 1, `the mail of ${id}`)
    assert.isAtMost(received, 1 + abandoned, `the mail of ${id}`)
  }
  const known = new Set(jobs.map(({ id }) => `<${id}@example.com>`))
  assert.deepStrictEqual(
    installation.mail.mails.filter((mail) => !known.has(mail.messageId)),
    []
  )
}
