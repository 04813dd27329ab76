import type { Ask } from '@reply/core'
import type { Actor } from '@reply/sink'
import type { PersonConfig, Right } from '../config/schema.ts'
import type { ChatPlace } from '../place.ts'

/** A person of the config. */
export interface Person {
  /** The name in the config. */
  readonly name: string
  /** The rights of this person, exactly as the config lists them. */
  readonly may: ReadonlySet<Right>
  /** The channels for notices that this person has. Default: none. */
  readonly notify?: readonly string[] | undefined
}

/** A person who gets the notices of a run. */
export interface Notified {
  readonly person: Person
  /** Whether this person wrote the prompt, and so may see what the chat says of it. */
  readonly isAuthor: boolean
}

/** An actor, and the channel's name in the config. */
export interface ChannelActor {
  readonly channel: string
  readonly actor: Actor
}

/** Identifies an actor. The name is not part of it, because anyone can choose it. */
interface Identity {
  readonly channel: string
  readonly actor: Pick<Actor, 'id'> & Partial<Actor>
}

/** The author of a prompt, and the people who edited it. */
export interface Authored extends Identity {
  readonly editors?: readonly Identity[] | undefined
}

/** The people and their current rights. The list can change at any time, so look rights up again after each `await`. */
export interface People {
  /** Returns the person of an actor. Undefined for strangers, channels and anonymous administrators. */
  personOf(channel: string, actor: Identity['actor']): Person | undefined
  /**
   * Returns the people that a message about an ask mentions in a shared chat, as actors of its channel: the run's authors, or all people
   * with `approve` for a permission request whose authors don't all have it, or if no author has an id there. Empty in a private chat,
   * also if the place was named by its id alone and that is a person's.
   */
  expectedAnswerers(type: Ask['type'], place: ChatPlace, prompt: Authored): readonly Actor[]
  /**
   * Returns who gets a notice of an ask of a run that these places show: its authors if they may answer it, otherwise the people with
   * `approve` in these places. Empty if none of them is known.
   */
  notifiedOfAsk(type: Ask['type'], prompt: Authored, places: readonly ChatPlace[]): readonly Notified[]
  /** Returns who gets a notice of the end of a run: its author. Undefined for strangers, and without `prompt` and `approve`. */
  notifiedOfEnd(prompt: Authored): Notified | undefined
  /** Whether the author of a prompt and all who edited it have a right. False if one of them is a stranger. */
  allMay(prompt: Authored, right: Right): boolean
  /** Whether an actor is the author of a prompt or edited it. False for strangers. */
  isAuthor(prompt: Authored, identity: Identity): boolean
  /** Whether two actors are the same person, possibly on different channels. False if either is a stranger. */
  isSamePerson(one: Identity, other: Identity): boolean
  /** Replaces the list. Rights that were looked up before don't change. */
  replaceAll(people: Readonly<Record<string, PersonConfig>>): void
}

/** Creates the list of people. If it is empty, all actors are strangers. */
export function createPeople(people: Readonly<Record<string, PersonConfig>>): People {
  let byID = peopleByID(people)
  const replaceAll: People['replaceAll'] = (next) => {
    byID = peopleByID(next)
  }
  return { personOf, expectedAnswerers, notifiedOfAsk, notifiedOfEnd, allMay, isAuthor, isSamePerson, replaceAll }

  /** Returns the ids of the prompt's authors if they may answer the ask and have ids there, otherwise of everyone with `approve`. */
  function expectedAnswerers(...[type, place, prompt]: Parameters<People['expectedAnswerers']>): readonly Actor[] {
    const { channel, chat } = place
    if (chat.kind === 'private' || personOf(channel, chat)) return []
    const own = answeringAuthors(type, prompt).flatMap((author) => actorsFor(channel, author))
    return own.length > 0 ? own : actorsWhere(channel, ({ may }) => may.has('approve'))
  }

  /** Returns the authors of a prompt who may answer an ask of its run. Empty unless all of them may. */
  function answeringAuthors(type: Ask['type'], prompt: Authored): readonly Identity[] {
    return type === 'question' || allMay(prompt, 'approve') ? authorsOf(prompt) : []
  }

  /** Returns the people who should answer the ask, each once. */
  function notifiedOfAsk(...[type, prompt, places]: Parameters<People['notifiedOfAsk']>): readonly Notified[] {
    const own = answeringAuthors(type, prompt).flatMap(({ channel, actor }) => personOf(channel, actor) ?? [])
    const users = own.filter(({ may }) => may.has('prompt') || may.has('approve'))
    const expected = new Set(users.length > 0 ? users : places.flatMap(approversIn))
    return [...expected].map((person) => ({
      person,
      isAuthor: authorsOf(prompt).some(({ channel, actor }) => personOf(channel, actor) === person),
    }))
  }

  /**
   * Returns the people with `approve` who have an id on the channel of a place. In a private chat that has the id of its person, as on
   * Telegram and WhatsApp, only that person, if they have it.
   */
  function approversIn({ channel, chat }: ChatPlace): readonly Person[] {
    const owner = personOf(channel, chat)
    const isApprover = ({ may }: Person): boolean => may.has('approve')
    if (owner && isApprover(owner)) return [owner]
    return actorsWhere(channel, isApprover).flatMap((actor) => personOf(channel, actor) ?? [])
  }

  /** Returns the author, if they may still use the bridge. */
  function notifiedOfEnd({ channel, actor }: Authored): Notified | undefined {
    const person = personOf(channel, actor)
    return person?.may.has('prompt') || person?.may.has('approve') ? { person, isAuthor: true } : undefined
  }

  /**
   * Returns the ids of a person on a channel: the actor itself on its own channel, otherwise all ids of the person there. Empty
   * if the person was removed, or has neither `prompt` nor `approve`.
   */
  function actorsFor(channel: string, { channel: from, actor }: Identity): readonly Actor[] {
    const person = personOf(from, actor)
    if (!person?.may.has('prompt') && !person?.may.has('approve')) return []
    return from === channel
      ? [{ ...actor, name: actor.name ?? person.name }]
      : actorsWhere(channel, (one) => one === person)
  }

  /** Whether the author and all editors have a right by the current list. */
  function allMay(prompt: Authored, right: Right): boolean {
    return authorsOf(prompt).every(({ channel, actor }) => personOf(channel, actor)?.may.has(right) === true)
  }

  /** Whether an identity is the same person as the author or one of the editors. */
  function isAuthor(prompt: Authored, identity: Identity): boolean {
    return authorsOf(prompt).some((author) => isSamePerson(author, identity))
  }

  /** Returns all ids on the channel of the people who match. */
  function actorsWhere(channel: string, isMatch: (person: Person) => boolean): readonly Actor[] {
    const prefix = `${channel}:`
    const matching = [...byID].filter(([id, person]) => id.startsWith(prefix) && isMatch(person))
    return matching.map(([id, { name }]) => ({ id: id.slice(prefix.length), name }))
  }

  /** Whether both ids belong to the same person. False if either is a stranger. */
  function isSamePerson(one: Identity, other: Identity): boolean {
    const person = personOf(one.channel, one.actor)
    return person !== undefined && person === personOf(other.channel, other.actor)
  }

  /**
   * Returns the person with an id. Undefined for strangers and for anonymous actors, who share the id of a group or channel.
   */
  function personOf(channel: string, actor: Identity['actor']): Person | undefined {
    return actor.isAnonymous ? undefined : byID.get(`${channel}:${actor.id}`)
  }
}

/** Returns the author of a prompt, then those who edited it. */
function authorsOf({ editors = [], ...author }: Authored): readonly Identity[] {
  return [author, ...editors]
}

/** Returns the people by each of their ids, as `<channel>:<id>`. */
function peopleByID(people: Readonly<Record<string, PersonConfig>>): ReadonlyMap<string, Person> {
  const byID = new Map<string, Person>()
  for (const [name, { ids, may, notify }] of Object.entries(people)) {
    const person = { name, may: new Set(may), ...(notify && { notify }) }
    for (const id of ids) byID.set(id, person)
  }
  return byID
}
