import type { SkillFile } from "@reins/base/domain/Guidance"
import { Effect } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import type { Skill, SkillPin } from "./Skill.js"

interface Row extends Skill {
  readonly content: string
}

const toSkill = ({ bytes, created_at, description, digest, files, name }: Skill): Skill => ({
  name,
  description,
  digest,
  bytes,
  files,
  created_at
})

/** The rows of skills. A content is kept beside its row, because versions of a project and their sessions outlive every machine. */
export const skillStore = Effect.map(Database, ({ all, first, run, sql }) => {
  const columns = sql`name, description, digest, bytes, files, created_at`
  const find = (projectId: string, { digest, name }: SkillPin) =>
    Effect.map(
      first(sql<Skill>`select ${columns} from project_skills
        where project_id = ${projectId} and name = ${name} and digest = ${digest}`),
      (row) => row && toSkill(row)
    )
  return {
    find,
    list: (projectId: string) =>
      Effect.map(
        all(sql<Skill>`select ${columns} from project_skills where project_id = ${projectId}
          order by name, created_at desc, digest limit 1000`),
        (rows) => rows.map(toSkill)
      ),
    count: (projectId: string) =>
      Effect.map(
        first(sql<{ found: number }>`select cast(count(*) as integer) as found from project_skills
          where project_id = ${projectId}`),
        (row) => row?.found ?? 0
      ),
    /** Keeps a skill. The commit holds the project. */
    insert: (projectId: string, skill: Skill, files: ReadonlyArray<SkillFile>): Effect.Effect<void, never, Commit> =>
      run(
        sql`insert into project_skills ${sql.insert({ project_id: projectId, ...skill, content: JSON.stringify(files) })}`
      ),
    /** The files of a skill that a version names; none for a project that is being deleted. */
    filesOf: (projectId: string, { digest, name }: SkillPin) =>
      Effect.map(
        first(sql<Pick<Row, "content">>`select content from project_skills
          where project_id = ${projectId} and name = ${name} and digest = ${digest}`),
        (row): ReadonlyArray<SkillFile> => (row === undefined ? [] : JSON.parse(row.content))
      )
  }
})
