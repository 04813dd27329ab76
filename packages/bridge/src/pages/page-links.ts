import type { Actor } from '@reply/sink'
import type { Links, PageGrant, PagePerson, PageRights } from '@reply/web'
import type { BridgeConfig, Right } from '../config/schema.ts'
import type { People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Execution } from '../state/execution.ts'
import { pageIDOf } from './run-id.ts'

/** Makes the links to the pages of runs. */
export interface PageLinks {
  /**
   * Returns the address of the page of a run, for a message in that place. In a private chat it is for the person there, who has the
   * same rights on the page. Anyone in a shared chat can open a link, so there it only shows the run. So does a link in a mirror of
   * another channel than the run's: what people do on a page is done in the run's own chat. The same as long as the person's rights are.
   */
  urlFor(execution: Execution, place: ChatPlace): URL
}

/** Who a link in a shared chat is for. */
const anyone: PagePerson = { id: '', name: '' }

/** Creates the links. They end `linkMs` after the start of their run. */
export function createPageLinks({
  links,
  publicUrl,
  linkMs,
  people,
}: {
  readonly links: Pick<Links, 'sign'>
  readonly publicUrl: string
  readonly linkMs: number
  readonly people: Pick<People, 'personOf'>
}): PageLinks {
  const base = new URL(publicUrl.endsWith('/') ? publicUrl : `${publicUrl}/`)
  return { urlFor }

  function urlFor(execution: Execution, place: ChatPlace): URL {
    const runID = pageIDOf(execution)
    const actor = ownerOf(execution, place)
    const isThere = place.channel === execution.prompt.channel
    const may = actor && isThere ? people.personOf(place.channel, actor)?.may : undefined
    const token = links.sign({
      runID,
      person: actor ? { id: personID(place.channel, actor), name: actor.name } : anyone,
      rights: rightsOf(may),
      until: execution.startedAt + linkMs,
    })
    const url = new URL(`r/${runID}`, base)
    url.hash = token
    return url
  }

  /** Returns the known person of a private chat: the author of the prompt, or the one with the id of the chat. Undefined in shared chats. */
  function ownerOf({ prompt, followed }: Execution, { channel, chat }: ChatPlace): Actor | undefined {
    if (chat.kind !== 'private') return undefined
    const isOwn = !followed && prompt.channel === channel && prompt.chat.id === chat.id
    const actor = isOwn ? prompt.actor : { id: chat.id, name: people.personOf(channel, chat)?.name ?? '' }
    return people.personOf(channel, actor) ? actor : undefined
  }
}

/** Returns what a person with these rights may try on a page. The owner of the chat decides about the run. */
function rightsOf(may: ReadonlySet<Right> | undefined): PageRights {
  const isUser = may?.has('approve') === true || may?.has('prompt') === true
  return { answer: isUser, stop: isUser || may?.has('admin') === true }
}

/**
 * Returns what a link allows now: no more than the rights that its person has now. Undefined for a person who is no longer in the
 * config. A link that is for anyone stays as it is.
 */
export function grantNow(grant: PageGrant, people: Pick<People, 'personOf'>): PageGrant | undefined {
  const known = actorOf(grant.person)
  if (!known) return grant
  const person = people.personOf(known.channel, known.actor)
  if (!person) return undefined
  const now = rightsOf(person.may)
  return { ...grant, rights: { answer: grant.rights.answer && now.answer, stop: grant.rights.stop && now.stop } }
}

/** Returns how long links last, in ms. Undefined if the config has no pages. */
export function linkMsIn({ web }: Pick<BridgeConfig, 'web'>): number | undefined {
  return web && web.linkHours * 3_600_000
}

/** Returns the id of a person in a link: the channel, which has no colon, and the person's id there. */
function personID(channel: string, { id }: Pick<Actor, 'id'>): string {
  return `${channel}:${id}`
}

/** Returns the actor of a link. Undefined for one that is for anyone. */
export function actorOf({ id, name }: PagePerson): { readonly channel: string; readonly actor: Actor } | undefined {
  const end = id.indexOf(':')
  return end === -1 ? undefined : { channel: id.slice(0, end), actor: { id: id.slice(end + 1), name } }
}
