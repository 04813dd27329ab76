import type { Ask } from '@reply/core'
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
  /** Who must answer an ask of a person's run, on that channel. Only people with `approve` answer permissions. */
  answerers(type: Ask['type'], channel: string, requester: Actor): readonly Actor[]
}

/** With an empty list, all actors are strangers. */
export function createPeople(people: Readonly<Record<string, PersonConfig>>): People {
  const byID = new Map<string, Person>()
  for (const [name, { ids, may }] of Object.entries(people)) {
    const person = { name, may: new Set(may) }
    for (const id of ids) byID.set(id, person)
  }
  return {
    find,
    answerers: (type, channel, requester) => {
      if (type === 'question' || find(channel, requester)?.may.has('approve')) return [requester]
      const prefix = `${channel}:`
      const approvers = [...byID].filter(([id, { may }]) => id.startsWith(prefix) && may.has('approve'))
      return approvers.map(([id, { name }]) => ({ id: id.slice(prefix.length), name }))
    },
  }

  function find(channel: string, actor: Actor): Person | undefined {
    return actor.isAnonymous ? undefined : byID.get(`${channel}:${actor.id}`)
  }
}
