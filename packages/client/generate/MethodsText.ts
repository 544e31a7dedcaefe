import { aboutGroup, answerName, bodyName, groups, inputName, type Operation, operations } from "./Operations.js"
import { type Field, fieldText, resolved, typeOf } from "./TypeText.js"
import { comment, pascal } from "./Words.js"

/** The types of what methods take, and of the answers that have no name of their own. */
export const inputsText = (): string =>
  operations
    .map((operation) => [inputText(operation), answerText(operation)].filter((text) => text !== "").join("\n"))
    .filter((text) => text !== "")
    .join("\n")

const inputText = (operation: Operation): string => {
  const fields = operation.parameters.map((field: Field) => fieldText(field, "asked")).join("")
  const body = bodyName(operation)
  const says = comment([`What \`${operation.group}.${operation.name}\` takes.`])
  const name = inputName(operation)
  if (operation.body === undefined) return fields === "" ? "" : `${says}export interface ${name} {\n${fields}}\n`
  const bodyType = body ?? typeOf(operation.body.schema, "asked")
  const isObject = body !== undefined && resolved(operation.body.schema).properties !== undefined
  if (isObject) return `${says}export interface ${name} extends ${body} {\n${fields}}\n`
  return `${says}export type ${name} = ${bodyType.includes(" | ") ? `(${bodyType})` : bodyType} & {\n${fields}}\n`
}

const isNamed = (type: string): boolean => /^[A-Z]\w*$/.test(type)

const answerText = (operation: Operation): string => {
  if (operation.answer === undefined) return ""
  const type = typeOf(operation.answer, "answered")
  const says = comment([operation.answer.description ?? `The answer of \`${operation.group}.${operation.name}\`.`])
  if (isNamed(type)) return ""
  return type.startsWith("{")
    ? `${says}export interface ${answerName(operation)} ${type}\n`
    : `${says}export type ${answerName(operation)} = ${type}\n`
}

const answerType = (operation: Operation): string => {
  if (operation.bytes) return "Uint8Array"
  if (operation.answer === undefined) return "void"
  const type = typeOf(operation.answer, "answered")
  return isNamed(type) ? type : answerName(operation)
}

/** The methods of each resource as promises, each with its comment. */
export const methodsText = (): string => {
  const interfaces = groups.map((group) => {
    const methods = operations.filter((operation) => operation.group === group).map(methodText)
    return `${comment([aboutGroup(group)])}export interface ${pascal(group)}Methods {\n${methods.join("\n")}}\n`
  })
  const all = groups.map(
    (group) => `${comment([aboutGroup(group)], "  ")}  readonly ${group}: ${pascal(group)}Methods\n`
  )
  return `${interfaces.join("\n")}
/** Every operation of the API, by the resource that it belongs to. */
export interface Methods {
${all.join("")}}
`
}

const methodText = (operation: Operation): string => {
  const answer = answerType(operation)
  const item = operation.item === undefined ? undefined : typeOf(operation.item, "answered")
  const result = item === undefined ? `Promise<${answer}>` : `List<${answer}, ${item}>`
  return `${comment(commentOf(operation), "  ")}  ${operation.name}(${argumentsOf(operation)}): ${result}\n`
}

const argumentsOf = (operation: Operation): string => {
  const { body, parameters } = operation
  const given = parameters.length > 0 || body !== undefined
  const required = parameters.some((parameter) => parameter.required) || body?.required === true
  const input = given ? inputName(operation) : "Readonly<Record<string, never>>"
  return `input${required ? "" : "?"}: ${input}, options?: ${operation.method === "GET" ? "RequestOptions" : "MutationOptions"}`
}

const commentOf = (operation: Operation): ReadonlyArray<string> => {
  const { body, codes, described, item, method, path } = operation
  return [
    described.description ?? `${described.summary}.`,
    ...(item === undefined ? [] : ["`await` gives one page; `for await` gives every item of all pages."]),
    `\`${method} ${path}\`${codes.length === 0 ? "" : `, which can be refused with ${codes.map((code) => `\`${code}\``).join(", ")}`}`,
    ...(body?.example === undefined
      ? []
      : [`@example\nawait reins.${operation.group}.${operation.name}(${exampleOf(operation)})`])
  ]
}

const exampleOf = ({ body, parameters }: Operation): string => {
  const ids = parameters.filter((parameter) => parameter.required).map(({ name }) => `${name},`)
  const fields = JSON.stringify(body?.example, null, 2)
    .replace(/^\{\n?/, "")
    .replace(/"([A-Za-z_]\w*)":/g, "$1:")
  return `{ ${ids.join(" ")}\n${fields}`
}
