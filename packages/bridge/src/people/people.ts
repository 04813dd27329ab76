import type { Actor } from '@reply/sink'
import type { PersonConfig, Right } from '../config/schema.ts'

/** A person of the config. */
export interface Person {
  /** The name in the config. */
  readonly name: string
  /** What this person may do: exactly what the config lists. */
  readonly may: ReadonlySet<Right>
}

/** Who may do what. */
export interface People {
  /** The person behind an actor of a channel; undefined for strangers, and for channels and anonymous administrators. */
  find(channel: string, actor: Actor): Person | undefined
}

/** With an empty list, all actors are strangers. */
export function createPeople(people: Readonly<Record<string, PersonConfig>>): People {
  const byID = new Map<string, Person>()
  for (const [name, { ids, may }] of Object.entries(people)) {
    const person = { name, may: new Set(may) }
    for (const id of ids) byID.set(id, person)
  }
  return { find: (channel, actor) => (actor.isAnonymous ? undefined : byID.get(`${channel}:${actor.id}`)) }
}
