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

/** An actor, and the channel's name in the config. */
export interface ChannelActor {
  readonly channel: string
  readonly actor: Actor
}

/** What identifies an actor: the name proves nothing. */
interface Identity {
  readonly channel: string
  readonly actor: Pick<Actor, 'id'> & Partial<Actor>
}

/** Who may do what. */
export interface People {
  /** The person behind an actor of a channel; undefined for strangers, and for channels and anonymous administrators. */
  find(channel: string, actor: Identity['actor']): Person | undefined
  /** Who must answer an ask of a person's run, as actors of that channel. Only people with `approve` answer permissions. */
  answerers(type: Ask['type'], channel: string, requester: ChannelActor): readonly Actor[]
  /** Whether two actors are the same person. */
  isSame(one: Identity, other: Identity): boolean
}

/** With an empty list, all actors are strangers. */
export function createPeople(people: Readonly<Record<string, PersonConfig>>): People {
  const byID = new Map<string, Person>()
  for (const [name, { ids, may }] of Object.entries(people)) {
    const person = { name, may: new Set(may) }
    for (const id of ids) byID.set(id, person)
  }
  return { find, answerers, isSame }

  function answerers(type: Ask['type'], channel: string, requester: ChannelActor): readonly Actor[] {
    const person = find(requester.channel, requester.actor)
    const isTheirs = type === 'question' || person?.may.has('approve')
    const own = requester.channel === channel ? [requester.actor] : actorsOf(channel, (one) => one === person)
    return isTheirs && own.length > 0 ? own : actorsOf(channel, ({ may }) => may.has('approve'))
  }

  function actorsOf(channel: string, isMeant: (person: Person) => boolean): readonly Actor[] {
    const prefix = `${channel}:`
    const meant = [...byID].filter(([id, person]) => id.startsWith(prefix) && isMeant(person))
    return meant.map(([id, { name }]) => ({ id: id.slice(prefix.length), name }))
  }

  function isSame(one: Identity, other: Identity): boolean {
    const person = find(one.channel, one.actor)
    return person !== undefined && person === find(other.channel, other.actor)
  }

  function find(channel: string, actor: Identity['actor']): Person | undefined {
    return actor.isAnonymous ? undefined : byID.get(`${channel}:${actor.id}`)
  }
}
