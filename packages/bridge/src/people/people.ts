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

/** A prompt's author, and the others whose words it has. */
export interface Authored extends Identity {
  readonly editors?: readonly Identity[] | undefined
}

/** Who may do what, now: the list may change at any time, so what is decided after a wait is looked up after it. */
export interface People {
  /** The person behind an actor of a channel; undefined for strangers, and for channels and anonymous administrators. */
  find(channel: string, actor: Identity['actor']): Person | undefined
  /**
   * Who must answer an ask of a run, as actors of that channel. Only people with `approve` answer permissions, and only if
   * all authors have it they are asked alone.
   */
  answerers(type: Ask['type'], channel: string, prompt: Authored): readonly Actor[]
  /** Whether all authors of a prompt have a right. */
  mayAll(prompt: Authored, right: Right): boolean
  /** Whether an actor is one of the authors of a prompt. */
  isAuthor(prompt: Authored, who: Identity): boolean
  /** Whether two actors are the same person. */
  isSame(one: Identity, other: Identity): boolean
  /** Replaces the list. */
  set(people: Readonly<Record<string, PersonConfig>>): void
}

/** With an empty list, all actors are strangers. */
export function createPeople(people: Readonly<Record<string, PersonConfig>>): People {
  let byID = listed(people)
  const set: People['set'] = (next) => {
    byID = listed(next)
  }
  return { find, answerers, mayAll, isAuthor, isSame, set }

  function answerers(type: Ask['type'], channel: string, prompt: Authored): readonly Actor[] {
    const isTheirs = type === 'question' || mayAll(prompt, 'approve')
    const own = isTheirs ? authorsOf(prompt).flatMap((author) => actorsFor(channel, author)) : []
    return own.length > 0 ? own : actorsOf(channel, ({ may }) => may.has('approve'))
  }

  /** A person who has left the list, or lost all that it takes, answers nothing. */
  function actorsFor(channel: string, { channel: from, actor }: Identity): readonly Actor[] {
    const person = find(from, actor)
    if (!person?.may.has('prompt') && !person?.may.has('approve')) return []
    return from === channel
      ? [{ ...actor, name: actor.name ?? person.name }]
      : actorsOf(channel, (one) => one === person)
  }

  function mayAll(prompt: Authored, right: Right): boolean {
    return authorsOf(prompt).every(({ channel, actor }) => find(channel, actor)?.may.has(right) === true)
  }

  function isAuthor(prompt: Authored, who: Identity): boolean {
    return authorsOf(prompt).some((author) => isSame(author, who))
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

function authorsOf({ editors = [], ...author }: Authored): readonly Identity[] {
  return [author, ...editors]
}

function listed(people: Readonly<Record<string, PersonConfig>>): ReadonlyMap<string, Person> {
  const byID = new Map<string, Person>()
  for (const [name, { ids, may }] of Object.entries(people)) {
    const person = { name, may: new Set(may) }
    for (const id of ids) byID.set(id, person)
  }
  return byID
}
