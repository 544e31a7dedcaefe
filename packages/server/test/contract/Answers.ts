import { type ErrorCode, errorKinds } from "@reins/base/domain/ReinsError"
import { Ajv2020 } from "ajv/dist/2020.js"
import { document, type Json, type Operation, successes } from "./Document.js"

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
// It is given once: a schema that brought the components along would have all of them walked again.
ajv.addSchema({ $id: "reins:document", components: document.components })
const judges = new Map<string, Judge>()

/** Judges values by a schema of the document, whose references begin at the document's root: the fault, or undefined. */
export const judgeOf = (schema: Json): Judge => {
  const own = JSON.stringify(schema).replaceAll('"#/components/', '"reins:document#/components/')
  const validate = ajv.compile(JSON.parse(own))
  return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors))
}

type Judge = (value: unknown) => string | undefined

const judgeNamed = (name: string, schema: Json): Judge => {
  const known = judges.get(name)
  if (known !== undefined) return known
  const judge = judgeOf(schema)
  judges.set(name, judge)
  return judge
}

export interface Answer {
  readonly status: number
  readonly contentType: string | undefined
  readonly text: string
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isCode = (code: string): code is ErrorCode => code in errorKinds

/** The deviation of an answer from the document of its operation; undefined when there is none. */
export const problemOf = (operation: Operation, answer: Answer): string | undefined => {
  const declared = operation.responses[String(answer.status)]
  if (declared === undefined) return "the status is not declared"
  const isSuccess = answer.status < 400
  if (isSuccess && !successes(operation).includes(answer.status)) return "the success is not declared"
  if (declared.content === undefined) return answer.text === "" ? undefined : "there is a body where none is declared"
  const type = answer.contentType?.split(";")[0] ?? ""
  const content = declared.content[type]
  if (content === undefined) return `the content type ${type} is not declared`
  if (type !== "application/json") return undefined
  const json = jsonOf(answer.text)
  if (json === undefined) return "the body is no JSON"
  const fault = judgeNamed(`${operation.name} ${answer.status}`, content.schema)(json)
  if (fault !== undefined) return fault
  return isSuccess || answer.status === 422 ? undefined : envelopeProblem(answer.status, json)
}

/** The fault of an answer to a method that its path does not have, which is that of no operation. */
export const problemOfUnmet = ({ responses, ...operation }: Operation, answer: Answer): string | undefined => {
  const { default: failure } = responses
  if (failure === undefined) return "no failure is declared"
  return problemOf({ ...operation, name: "no operation", responses: { [answer.status]: failure } }, answer)
}

/** A code is of the closed set, and goes with its status, its category and whether it may be retried. */
const envelopeProblem = (status: number, json: unknown): string | undefined => {
  const error = typeof json === "object" && json !== null && "error" in json ? json.error : undefined
  if (typeof error !== "object" || error === null || !("code" in error)) return "the envelope is empty"
  const code = String(error.code)
  if (!isCode(code)) return `the code ${code} is of no closed set`
  const kind = errorKinds[code]
  const agrees =
    kind.status === status &&
    "category" in error &&
    error.category === kind.category &&
    "retryable" in error &&
    error.retryable === kind.retryable
  return agrees ? undefined : `${code} does not go with its status, category or retryable`
}
