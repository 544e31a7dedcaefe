import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { placeForEachTest } from "@reins/testing/process/Place"
import { assert, it } from "vitest"
import { type Container, Network } from "./Containers.js"
import { deployed, imageSays } from "./Deploy.js"
import { faultsOf, kustomized, type Labels, type Manifest } from "./Manifests.js"
import { environmentOf, podOf, valuesOf, type Workload, workloadsOf } from "./Pods.js"
import { assertSettings, assertWorkAcrossNodes } from "./SeveralNodes.js"

const place = placeForEachTest()

const folders = ["migration", "nodes", "sandbox"] as const
const all = Object.fromEntries(folders.map((name) => [name, kustomized(deployed(`kubernetes/${name}`))]))
const everything = Object.values(all).flat()

/** The Secrets that docs/scale.md has an operator make. */
const secrets = {
  reins: { REINS_DATABASE_URL: "postgres://reins:s3cret@db:5432/reins", REINS_SMTP_URL: "smtp://127.0.0.1:9" },
  "reins-keys": { "keyring.json": "" }
}
const values = valuesOf(everything, secrets)
const workload = (folder: (typeof folders)[number], kind: string): Workload => {
  const found = workloadsOf(all[folder] ?? []).find((each) => each.kind === kind)
  assert(found, kind)
  return found
}
const port = Number(imageSays.environment["REINS_PORT"])

it("Kubernetes takes every manifest, and would refuse a wrong one", { timeout: 300_000 }, () => {
  assert.isAtLeast(everything.length, 20)
  assert.deepStrictEqual(faultsOf(everything), [])
  const [api] = (all["nodes"] ?? []).filter(({ kind }) => kind === "Deployment")
  assert(api)
  const wrong = (change: (text: string) => string): Manifest => JSON.parse(change(JSON.stringify(api)))
  for (const [change, fault] of [
    [(text: string) => text.replace("readinessProbe", "readynessProbe"), /readynessProbe/],
    [(text: string) => text.replace('"replicas":2', '"replicas":"two"'), /replicas/],
    [(text: string) => text.replace('"selector"', '"selectors"'), /selector/],
    [(text: string) => text.replace('"containerPort":7117', '"containerPort":"http"'), /containerPort/]
  ] as const)
    assert.match(faultsOf([wrong(change)]).join("\n"), fault)
})

it("every setting in the manifests is one, with a value that it takes", async () => {
  const pod = { "metadata.name": "reins-runner-0", "status.podIP": "10.1.2.3" }
  for (const { spec } of workloadsOf(everything))
    for (const container of spec.template.spec.containers) await assertSettings(environmentOf(container, values, pod))
  const refused = await assertSettings({ REINS_NODE_RECLAIM: "1" }).catch(String)
  assert.match(String(refused), /There is no setting/)
})

it("what names another resource finds it: labels, ports, services, volumes and secrets", () => {
  const manifests = all["nodes"] ?? []
  const pods = workloadsOf(manifests).map(({ spec }) => spec.template)
  const matches = (selector: Labels) =>
    pods.filter(({ metadata }) => Object.entries(selector).every(([label, value]) => metadata.labels[label] === value))
  for (const { kind, metadata, spec } of manifests) {
    const { podSelector, selector } = (spec ?? {}) as {
      readonly selector?: Labels | { readonly matchLabels: Labels }
      readonly podSelector?: { readonly matchLabels?: Labels }
    }
    const asked = kind === "Service" ? selector : (selector?.["matchLabels"] ?? podSelector?.matchLabels)
    if (asked !== undefined) assert.isNotEmpty(matches(asked as Labels), `${kind} ${metadata.name}`)
  }
  for (const { metadata, spec } of manifests.filter(({ kind }) => kind === "Service")) {
    const { ports, selector } = spec as { ports: ReadonlyArray<{ targetPort: string }>; selector: Labels }
    for (const template of matches(selector))
      for (const { targetPort } of ports) {
        const found = template.spec.containers[0]?.ports?.find(({ name }) => name === targetPort)
        assert.strictEqual(found?.containerPort, port, metadata.name)
      }
  }
  const policies = JSON.stringify(manifests.filter(({ kind }) => kind === "NetworkPolicy"))
  const open = [...policies.matchAll(/"port":(\d+)/g)].map(([, text]) => Number(text))
  assert.sameMembers([...new Set(open)], [port, 53, 443, 465, 587, 5432])
  const runner = workload("nodes", "StatefulSet")
  const service = manifests.find(
    ({ kind, metadata }) => kind === "Service" && metadata.name === runner.spec.serviceName
  )
  assert.deepInclude(service?.["spec"] as object, { clusterIP: "None", publishNotReadyAddresses: true })
})

it("pods run without rights, are asked for their health, and stop after their turns", async () => {
  for (const { kind, metadata, spec } of workloadsOf([...(all["migration"] ?? []), ...(all["nodes"] ?? [])])) {
    const pod = spec.template.spec
    const title = `${kind} ${metadata.name}`
    // Kubernetes would set REINS_PORT to a URL, for the Service of that name.
    assert.isFalse(pod.enableServiceLinks, title)
    assert.isFalse(pod.automountServiceAccountToken, title)
    assert.deepInclude(pod.securityContext, { runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001 }, title)
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      assert.deepInclude(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true })
      assert.hasAllKeys(container.resources, ["requests", "limits"])
      assert.match(container.image, /^registry\.example\.com\/reins:/)
    }
    if (kind === "Job") continue
    const [node] = pod.containers
    assert.deepStrictEqual(
      [node?.startupProbe, node?.livenessProbe, node?.readinessProbe].map((probe) => probe?.httpGet),
      ["/healthz", "/healthz", "/readyz"].map((path) => ({ path, port: "http" }))
    )
  }
  const { turnDeadlineMs } = CoreConfig.from({ dataDir: "/nowhere", publicUrl: "http://127.0.0.1" })
  const { terminationGracePeriodSeconds = 0 } = workload("nodes", "StatefulSet").spec.template.spec
  assert.isAbove(terminationGracePeriodSeconds * 1000, turnDeadlineMs)
})

it("the sandbox changes what a sandbox needs, and nothing else", () => {
  const text = (folder: string) => JSON.stringify(all[folder], null, 1).split("\n")
  const plain = new Set(text("nodes").map((line) => line.trim().replace(/,$/, "")))
  const added = text("sandbox")
    .map((line) => line.trim().replace(/,$/, ""))
    .filter((line) => !plain.has(line))
  assert.sameMembers(
    [...new Set(added)],
    [
      '"pod-security.kubernetes.io/enforce": "privileged"',
      '"hostUsers": false',
      '"value": "bubblewrap"',
      '"procMount": "Unmasked"',
      '"type": "Unconfined"',
      '"appArmorProfile": {'
    ]
  )
})

it("its pods, run as they are written, have a session go on on the other runner", { timeout: 300_000 }, async () => {
  const network = new Network(place.directory)
  const newPod = (of: Workload, name: string, ...names: ReadonlyArray<string>) =>
    podOf(of, { name, address: network.join(name, ...names), directory: place.directory, values })
  const runner = workload("nodes", "StatefulSet")
  const ordinals = Array.from({ length: runner.spec.replicas ?? 0 }, (_, ordinal) => `reins-runner-${ordinal}`)
  const runners = ordinals.map((name) => newPod(runner, name, `${name}.${runner.spec.serviceName}`))
  const apis = ["reins-api-7d4b9c-x2x9z", "reins-api-7d4b9c-q8w2r"].map((name) =>
    newPod(workload("nodes", "Deployment"), name)
  )
  const migration = newPod(workload("migration", "Job"), "reins-migrate-abcde")
  const pods = [...runners, ...apis]
  const directory = join(place.directory, "secret-reins-keys")
  mkdirSync(directory)
  // The command of docs/scale.md, by which an operator makes the file for the Secret.
  const keys: Container = {
    names: ["keys"],
    address: network.join("keys"),
    command: ["keyring", "create"],
    environment: { REINS_KEY_FILE: "/var/lib/reins-secret/keyring.json" },
    volumes: { "/var/lib/reins-secret": { from: directory, readOnly: false } }
  }
  await assertWorkAcrossNodes(place, {
    network,
    first: [keys, ...migration.containers, ...pods.flatMap(({ first }) => first)],
    nodes: Object.fromEntries(
      pods.map(({ containers: [node], name }) => {
        assert(node)
        return [name, node]
      })
    ),
    entry: apis[0]?.name ?? "",
    drain: (name) => {
      const pod = runners.find((each) => each.name === name)
      assert(pod?.containers[0])
      return { ...pod.containers[0], command: [], entryPoint: pod.preStop }
    },
    keyFile: join(directory, "keyring.json"),
    changes: { REINS_CACHE_DIR: cacheWithSmallAgent(place.directory) }
  })
})
