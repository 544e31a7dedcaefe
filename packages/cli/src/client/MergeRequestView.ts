import {
  commentText,
  type MergeRequest,
  type Reins,
  type RequestCheck,
  type RequestReview,
  type RequestThread
} from "@reins/client"
import { harmless, harmlessLine, painter } from "../terminal/Style.js"
import { type CaredRequest, endOfRequest, nextCommand, standingSentences } from "./FollowRequest.js"

/** The parts of a merge request as they were last read. */
export interface RequestParts {
  /** The checks of its head. */
  readonly checks: ReadonlyArray<RequestCheck>
  readonly reviews: ReadonlyArray<RequestReview>
  readonly threads: ReadonlyArray<RequestThread>
}

export const readParts = async (reins: Reins, { head_sha, id }: MergeRequest): Promise<RequestParts> => {
  const page = { merge_request_id: id, limit: 200 }
  const [checks, reviews, threads] = await Promise.all([
    head_sha === null ? [] : reins.mergeRequests.listChecks({ ...page, head_sha }).all(),
    reins.mergeRequests.listReviews(page).all(),
    reins.mergeRequests.listThreads(page).all()
  ])
  // A forge may make a review for each comment on a line, which the threads show.
  return { checks, reviews: reviews.filter(({ body, state }) => state !== "commented" || body !== ""), threads }
}

const oneLine = (text: string): string => harmless(text).replaceAll(/\s+/g, " ").trim()

/** Writes a merge request for a person. All words of the forge are in one line each, without what a terminal would obey. */
export const printMergeRequest = (cared: CaredRequest, parts: RequestParts): void => {
  const { request } = cared
  const paint = painter(process.stdout)
  const write = (line = "") => void process.stdout.write(`${harmlessLine(line)}\n`)
  const section = (name: string, lines: ReadonlyArray<string>) => {
    if (lines.length === 0) return
    write()
    write(paint("bold", name))
    for (const line of lines) write(`  ${line}`)
  }
  write(paint("bold", oneLine(`${request.number === null ? "" : `#${request.number} `}${request.title}`)))
  for (const [name, value] of factsOf(request)) write(`${name.padEnd(11)} ${oneLine(value)}`)
  section("Checks of the head", parts.checks.map(checkLine))
  section(
    "Reviews",
    parts.reviews.map((each) => reviewLine(each, request.head_sha))
  )
  section("Threads", parts.threads.map(threadLine))
  section("Not read", unreadOf(request))
  write()
  for (const sentence of standingSentences(cared)) write(sentence)
  const end = endOfRequest(cared)
  const next = end === undefined ? undefined : nextCommand(end, request.id)
  if (next !== undefined) write(`Go on: ${next}`)
}

const factsOf = (request: MergeRequest): ReadonlyArray<readonly [string, string]> => {
  const { base_branch, draft, head_branch, head_sha, id, next_look_at, observed_at, standing, state, web_url } = request
  const pusher =
    standing === null ? "" : standing.head_is_ours ? ", pushed by the session" : ", pushed by somebody else"
  const next = next_look_at === null ? "" : `, again by ${next_look_at}`
  return [
    ["Request", id],
    ["State", `${draft ? `${state}, draft` : state}${wishOf(request)}`],
    ["Branch", `${head_branch} into ${base_branch}`],
    ...(head_sha === null ? [] : [["Head", `${head_sha.slice(0, 10)}${pusher}`] as const]),
    ...(standing === null ? [] : [["Conflicts", standing.conflicts] as const]),
    ...(observed_at === null ? [] : [["Read", `${observed_at}${next}`] as const]),
    ...(web_url === null ? [] : [["Page", web_url] as const])
  ]
}

/** A wish that the forge does not know yet. */
const wishOf = ({ draft, draft_wanted }: MergeRequest): string =>
  draft_wanted === null || draft_wanted === draft ? "" : draft_wanted ? ", becomes a draft" : ", becomes ready"

/** A check that failed has its id, which its log is asked for by. */
const checkLine = ({ id, name, on_base, optional, state, url }: RequestCheck): string =>
  oneLine(
    `${state.replaceAll("_", " ").padEnd(15)} ${name}${optional ? " (may fail)" : ""}${on_base === true ? " (red on the base too)" : ""} ${state === "failing" ? id : ""} ${url ?? ""}`
  )

const reviewLine = ({ author, body, head_sha, state }: RequestReview, head: string | null): string => {
  const where = head_sha === null || head_sha === head ? "" : ` of ${head_sha.slice(0, 10)}`
  return oneLine(`${state.replaceAll("_", " ").padEnd(17)} ${author.login}${where}${body === "" ? "" : `: ${body}`}`)
}

/** A thread shows its first comment, and how many follow. Its id serves to answer in it. */
const threadLine = ({ comments, id, line, outdated, path, resolved }: RequestThread): string => {
  const place = path === null ? "the request" : line === null ? path : `${path}:${line}`
  const marks = [resolved === true ? "resolved" : "", resolved === false ? "open" : "", outdated ? "outdated" : ""]
  const [first, ...others] = comments
  const words = first === undefined ? "" : `${first.author.login}: ${commentText(first.body)}`
  const more = others.length === 0 ? "" : ` (+${others.length})`
  return oneLine(`${id} ${place} ${marks.filter(Boolean).join(", ")} ${words}${more}`)
}

const unreadOf = ({ standing }: MergeRequest): ReadonlyArray<string> =>
  (standing?.waiting_for ?? [])
    .filter(({ kind }) => kind.endsWith("_unreadable") || kind.endsWith("_incomplete"))
    .map(({ message }) => oneLine(message))
