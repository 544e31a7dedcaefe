import { join } from "node:path"
import type { Container } from "./Containers.js"
import type { Labels, Manifest } from "./Manifests.js"

interface Named {
  readonly name: string
}
interface Reference {
  readonly configMapKeyRef?: Named & { readonly key: string }
  readonly secretKeyRef?: Named & { readonly key: string }
  readonly fieldRef?: { readonly fieldPath: string }
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

/** A container of a pod, as far as the project's manifests go. */
export interface PodContainer extends Named {
  readonly image: string
  readonly command?: ReadonlyArray<string>
  readonly args?: ReadonlyArray<string>
  readonly env?: ReadonlyArray<Named & { readonly value?: string; readonly valueFrom?: Reference }>
  readonly envFrom?: ReadonlyArray<{ readonly configMapRef?: Named; readonly secretRef?: Named }>
  readonly ports?: ReadonlyArray<Named & { readonly containerPort: number }>
  readonly volumeMounts?: ReadonlyArray<Named & { readonly mountPath: string; readonly readOnly?: boolean }>
  readonly resources?: { readonly requests?: unknown; readonly limits?: Readonly<Record<string, string>> }
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: ReadonlyArray<string> } } }
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
}

export interface PodSpec {
  readonly containers: ReadonlyArray<PodContainer>
  readonly initContainers?: ReadonlyArray<PodContainer>
  readonly volumes?: ReadonlyArray<Named & { readonly secret?: { readonly secretName: string } }>
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly terminationGracePeriodSeconds?: number
  readonly enableServiceLinks?: boolean
  readonly automountServiceAccountToken?: boolean
}

/** The documents that make pods. */
export interface Workload extends Manifest {
  readonly spec: {
    readonly replicas?: number
    readonly serviceName?: string
    readonly selector?: { readonly matchLabels: Labels }
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec }
    readonly volumeClaimTemplates?: ReadonlyArray<{ readonly metadata: Named }>
  }
}

export const workloadsOf = (manifests: ReadonlyArray<Manifest>): ReadonlyArray<Workload> =>
  manifests.filter((manifest): manifest is Workload => ["Deployment", "Job", "StatefulSet"].includes(manifest.kind))

/** The values behind references: those of the ConfigMaps, and those that an operator puts into the Secrets. */
export type Values = Readonly<Record<string, Readonly<Record<string, string>>>>

export const valuesOf = (manifests: ReadonlyArray<Manifest>, secrets: Values): Values => ({
  ...Object.fromEntries(
    manifests
      .filter(({ kind }) => kind === "ConfigMap")
      .map(({ data, metadata }) => [`ConfigMap/${metadata.name}`, data as Readonly<Record<string, string>>])
  ),
  ...Object.fromEntries(Object.entries(secrets).map(([name, values]) => [`Secret/${name}`, values]))
})

const found = <A>(value: A | undefined, what: string): A => {
  if (value === undefined) throw new Error(`There is no ${what}`)
  return value
}

/** The environment of a container, as Kubernetes makes it for a pod of this name and address. */
export const environmentOf = (
  { env = [], envFrom = [] }: PodContainer,
  values: Values,
  pod: Readonly<Record<string, string>>
): Readonly<Record<string, string>> => {
  const all = (kind: string, name: string) => found(values[`${kind}/${name}`], `${kind} ${name}`)
  const made: Record<string, string> = {}
  for (const { configMapRef, secretRef } of envFrom)
    Object.assign(
      made,
      configMapRef === undefined ? {} : all("ConfigMap", configMapRef.name),
      secretRef === undefined ? {} : all("Secret", secretRef.name)
    )
  for (const { name, value, valueFrom: { configMapKeyRef: map, fieldRef, secretKeyRef: secret } = {} } of env) {
    if (fieldRef !== undefined) made[name] = found(pod[fieldRef.fieldPath], fieldRef.fieldPath)
    else if (secret !== undefined) made[name] = found(all("Secret", secret.name)[secret.key], secret.key)
    else if (map !== undefined) made[name] = found(all("ConfigMap", map.name)[map.key], map.key)
    else made[name] = expanded(value ?? "", made)
  }
  return made
}

/** Kubernetes puts in what was set before. */
const expanded = (text: string, made: Readonly<Record<string, string>>) =>
  text.replace(/\$\((\w+)\)/g, (_, name: string) => found(made[name], `variable ${name}`))

/** A pod of a workload, with the directories of this machine that stand for its volumes. */
export const podOf = (
  workload: Workload,
  { address, directory, name, values }: { address: string; directory: string; name: string; values: Values }
) => {
  const { spec } = workload.spec.template
  const disks = new Map([
    ...(spec.volumes ?? []).map(
      ({ name: volume, secret }) =>
        [volume, join(directory, secret === undefined ? `${name}-${volume}` : `secret-${secret.secretName}`)] as const
    ),
    ...(workload.spec.volumeClaimTemplates ?? []).map(
      ({ metadata }) => [metadata.name, join(directory, `claim-${name}-${metadata.name}`)] as const
    )
  ])
  const container = (of: PodContainer): Container => ({
    names: [name],
    address,
    command: of.args ?? [],
    ...(of.command !== undefined && { entryPoint: of.command }),
    environment: environmentOf(of, values, { "metadata.name": name, "status.podIP": address }),
    volumes: Object.fromEntries(
      (of.volumeMounts ?? [])
        .filter(({ mountPath }) => mountPath !== "/tmp")
        .map(({ mountPath, name: volume, readOnly = false }) => [
          mountPath,
          { from: found(disks.get(volume), `volume ${volume}`), readOnly }
        ])
    )
  })
  return {
    name,
    first: (spec.initContainers ?? []).map(container),
    containers: spec.containers.map(container),
    preStop: spec.containers[0]?.lifecycle?.preStop.exec.command ?? []
  }
}
