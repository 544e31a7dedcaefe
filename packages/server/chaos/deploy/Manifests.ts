import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { assert } from "vitest"
import { readYaml, root } from "./Deploy.js"

/** A resource of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels }
  readonly [field: string]: unknown
}

/** Labels, or the part of them that a selector asks for. */
export type Labels = Readonly<Record<string, string>>

interface Kustomization {
  readonly resources: ReadonlyArray<string>
  readonly images?: ReadonlyArray<{ readonly name: string; readonly newName: string; readonly newTag: string }>
  readonly patches?: ReadonlyArray<{ readonly path: string }>
}

const understood = ["apiVersion", "kind", "resources", "images", "patches"]

/** The resources that a kustomization gives. It understands what the files of the project use, and fails for anything else. */
export const kustomized = (directory: string): ReadonlyArray<Manifest> => {
  const documents = (name: string) => readYaml(readFileSync(join(directory, name), "utf8"))
  const kustomization = documents("kustomization.yaml")[0] as Kustomization
  assert.deepStrictEqual(
    Object.keys(kustomization).filter((key) => !understood.includes(key)),
    [],
    directory
  )
  const resources = kustomization.resources.flatMap((path) =>
    path.endsWith(".yaml") ? (documents(path) as ReadonlyArray<Manifest>) : kustomized(join(directory, path))
  )
  const patched = (kustomization.patches ?? []).reduce((all, { path }) => {
    const [patch] = documents(path) as ReadonlyArray<Manifest>
    const at = all.findIndex(({ kind, metadata }) => kind === patch?.kind && metadata.name === patch.metadata.name)
    assert.notStrictEqual(at, -1, `${path} is about nothing`)
    return all.map((each, index) => (index === at ? (merged(each, patch) as Manifest) : each))
  }, resources)
  const images = new Map(
    (kustomization.images ?? []).map(({ name, newName, newTag }) => [name, `${newName}:${newTag}`])
  )
  const text = JSON.stringify(patched, (key, value) => (key === "image" ? (images.get(value) ?? value) : value))
  return JSON.parse(text)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A strategic merge: objects by their fields, lists of named things by their names, those of the patch first. */
const merged = (one: unknown, other: unknown): unknown => {
  if (Array.isArray(one) && Array.isArray(other)) {
    const first = other.map((each) => merged(one.find(({ name }) => name === each.name) ?? {}, each))
    return [...first, ...one.filter(({ name }) => !other.some((each) => each.name === name))]
  }
  if (!isObject(one) || !isObject(other)) return other ?? one
  const added = Object.entries(other).map(([key, value]) => [key, key in one ? merged(one[key], value) : value])
  return { ...one, ...Object.fromEntries(added) }
}

const tools = join(root, "packages/testing/tools")
const requireTool = createRequire(join(tools, "package.json"))

/**
 * Everything that is wrong with manifests by the schemas of Kubernetes: values of a wrong type or form and what is missing, by the schemas that the
 * package `kubernetes-models` has of its API, and fields that are not there, by its types.
 */
export const faultsOf = (manifests: ReadonlyArray<Manifest>): ReadonlyArray<string> => {
  const ofSchemas = manifests.flatMap((manifest) => {
    const models = requireTool(`kubernetes-models/${manifest.apiVersion}/${manifest.kind}`)
    try {
      new models[manifest.kind](manifest).validate()
      return []
    } catch (cause) {
      return [`${manifest.kind} ${manifest.metadata.name}: ${String(cause)}`]
    }
  })
  return [...ofSchemas, ...unknownFields(manifests)]
}

/** A compiler refuses a field that the type of a literal does not have. */
const unknownFields = (manifests: ReadonlyArray<Manifest>): ReadonlyArray<string> => {
  const ts: typeof import("typescript") = requireTool("typescript")
  const file = join(tools, "manifests.ts")
  const lines = manifests.map((manifest, index) => {
    const type = `import("kubernetes-models/${manifest.apiVersion}/${manifest.kind}").I${manifest.kind}`
    return `export const d${index}: ${type} = ${JSON.stringify(manifest)}`
  })
  const options = { noEmit: true, strict: true, skipLibCheck: true, types: [], module: 99, moduleResolution: 100 }
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile, readFile } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.readFile = (name) => (name === file ? lines.join("\n") : readFile(name))
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, lines.join("\n"), 99) : getSourceFile(name, ...rest)
  const program = ts.createProgram([file], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file: source, messageText, start = 0 }) => {
    const at = source === undefined ? 0 : source.getLineAndCharacterOfPosition(start).line
    const { kind = "", metadata } = manifests[at] ?? {}
    return `${kind} ${metadata?.name ?? ""}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`
  })
}
