import { Context, type Effect } from "effect"

/** Runs the effects of one id one after the other, those of other processes on the same files too. The effects of different ids run at once. */
export type FileLock<Id extends string> = <A, E, R>(id: Id, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Makes a lock that holds against all processes of the machine. An id names the file that they lock. */
export type MakeFileLock = <Id extends string = string>(fileOf: (id: Id) => string) => FileLock<Id>

/** The locks by which the processes on one data directory take turns. A fiber that takes a lock again inside of itself waits for ever. */
export class FileLocks extends Context.Tag("@reins/core/bench/FileLocks")<FileLocks, MakeFileLock>() {}
