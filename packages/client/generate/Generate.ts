import { document } from "./Document.js"
import { inputsText, methodsText } from "./MethodsText.js"
import { groups, operations } from "./Operations.js"
import { componentsText } from "./TypeText.js"
import { pascal } from "./Words.js"

const head = "// Made from the OpenAPI document by packages/client/generate at each build. Changes belong there.\n\n"

const routesText = (): string => {
  const rows = groups.map((group) => {
    const own = operations.filter((operation) => operation.group === group)
    const routes = own.map(({ body, bytes, item, method, name, path }) => {
      const marks = `${body === undefined ? "" : ", body: true"}${item === undefined ? "" : ", list: true"}${bytes ? ", bytes: true" : ""}`
      return `    ${name}: { method: ${JSON.stringify(method)}, path: ${JSON.stringify(path)}${marks} }`
    })
    return `  ${group}: {\n${routes.join(",\n")}\n  }`
  })
  return `/** Every operation of the API, by group and name. */\nexport const routes = {\n${rows.join(",\n")}\n} as const\n`
}

const { code, category } = document.components.schemas["ErrorEnvelope"]?.properties?.["error"]?.properties ?? {}

const errorsText = (): string => `/** Every code that the API answers with. */
export const errorCodes: ReadonlyArray<string> = ${JSON.stringify(code?.enum)}

export const errorCategories: ReadonlyArray<string> = ${JSON.stringify(category?.enum)}
`

/** Every file of `src/generated`, by its name. */
export const files: Readonly<Record<string, string>> = {
  "Resources.ts": `${head}${componentsText()}\n${inputsText()}`,
  "Methods.ts": `${head}import type { List } from "../List.js"
import type { MutationOptions, RequestOptions } from "../Transport.js"
import type {
${namesIn(methodsText())
  .map((name) => `  ${name}`)
  .join(",\n")}
} from "./Resources.js"

${methodsText()}`,
  "Routes.ts": `${head}${routesText()}\n${errorsText()}`
}

/** The types that the methods name. */
function namesIn(text: string): ReadonlyArray<string> {
  const code = text.replace(/\/\*\*[\s\S]*?\*\//g, "")
  const own = new Set([
    ...groups.map((group) => `${pascal(group)}Methods`),
    ...["Methods", "List", "Promise", "Uint8Array", "RequestOptions", "MutationOptions", "Readonly", "Record"]
  ])
  const found = [...code.matchAll(/(?<=[:<] ?|, )[A-Z]\w*/g)].map(([name]) => name)
  return [...new Set(found)].filter((name) => !own.has(name)).sort()
}
