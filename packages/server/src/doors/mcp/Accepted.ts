/** True for a client that reads a stream of events. One that names none, or anything, gets JSON: every client can read that. */
export const takesStream = (accept: string | null): boolean =>
  (accept ?? "").split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    return type === "text/event-stream" && !parameters.some((each) => /^q\s*=\s*0(?:\.0*)?$/.test(each))
  })

/** The answer in JSON. Of a stream it has the answers, and not what was told on the way to them. */
export const asJson = async (answer: Response): Promise<Response> => {
  if (!(answer.headers.get("content-type") ?? "").startsWith("text/event-stream")) return answer
  const answers = (await answer.text())
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length)] : []))
    .filter((data) => !("method" in JSON.parse(data)))
  const [only] = answers
  const body = answers.length === 1 ? only : `[${answers.join(",")}]`
  return new Response(body, { status: answer.status, headers: { "content-type": "application/json" } })
}
