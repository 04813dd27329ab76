import { TestingError, type TestingFailure } from '../error.ts'

/** The members that every fake platform has. A place is a chat, a channel or a person, as the platform names it. */
export interface FakePlatform<Place, Call, Fault, Message, Kind = string> {
  /**
   * Every accepted call so far, in order of arrival, whatever the response. Calls with a wrong token are not logged.
   */
  readonly calls: readonly Call[]
  /** The number of calls of this kind, whatever the response. */
  count(kind: Kind): number
  /** The messages that a person sees there now, oldest first. */
  screen(place: Place): readonly Message[]
  /** How many of the bot's messages notified there. Edits and silent messages don't. */
  notifications(place: Place): number
  /** Adds a fault, which counts calls from now on. */
  inject(fault: Fault): void
  /** Calls the observer after each change of a place. Returns a function that stops it. */
  observe(observer: (place: Place) => void): () => void
}

/** A fake that is a server of its own, beside `FakePlatform`. */
export interface FakeHttpPlatform<Place, Call, Fault, Message, Kind = string>
  extends FakePlatform<Place, Call, Fault, Message, Kind> {
  /** Breaks open connections and stops listening. */
  close(): Promise<void>
}

interface Observers<Place> {
  /** Returns a function that removes the observer. */
  observe(observer: (place: Place) => void): () => void
  /** Tells every observer that a person there now sees something else. */
  changed(place: Place): void
}

/**
 * Returns the observers of a fake, none at first. They are called with the chat or channel that now looks different.
 */
export function createObservers<Place>(): Observers<Place> {
  const observers = new Set<(place: Place) => void>()
  return {
    observe: (observer) => {
      observers.add(observer)
      return () => observers.delete(observer)
    },
    changed: (place) => {
      for (const observer of observers) observer(place)
    },
  }
}

/**
 * Returns the chat or channel where a person acts. Throws a `TestingError` that names the option to add it to, if it
 * is undefined.
 */
export function shownPlace<Place>(
  platform: TestingFailure,
  kind: string,
  id: unknown,
  place: Place | undefined,
): Place {
  if (place !== undefined) return place
  const start = `start${platform.charAt(0).toUpperCase()}${platform.slice(1)}`
  throw new TestingError(platform, `There is no ${kind} ${id}: add it to ${start}'s ${kind}s.`)
}

/** Returns the message that a person acts on. Throws a `TestingError` that lists the ones on the screen. */
export function shownPost<Id, Post>(
  platform: TestingFailure,
  place: string,
  posts: ReadonlyMap<Id, Post>,
  id: Id,
): Post {
  const post = posts.get(id)
  if (post !== undefined) return post
  throw new TestingError(platform, `${place} shows no message ${id}. It shows ${listed(posts.keys())}.`)
}

/** A button or an option below a message, by the label that a person sees. */
interface Labelled {
  readonly label: string
  /** The bot's own names for it, which a test may give instead of the label. */
  readonly otherNames?: readonly (string | undefined)[]
}

/**
 * Returns the button of a message that a person presses: the first one with the wanted label, else the first one with
 * it as another name. Throws a `TestingError` that lists the labels if there is none. `kind` names it there.
 */
export function shownButton<Button extends Labelled>(
  platform: TestingFailure,
  messageId: unknown,
  wanted: string,
  buttons: readonly Button[],
  kind = 'button',
): Button {
  const found =
    buttons.find(({ label }) => label === wanted) ?? buttons.find(({ otherNames }) => otherNames?.includes(wanted))
  if (found) return found
  const labels = listed(buttons.map(({ label }) => `"${label}"`))
  throw new TestingError(
    platform,
    `Message ${messageId} has no ${kind} "${wanted}" that reaches the bot. It has ${labels}.`,
  )
}

/** The names, separated by commas, or "none". */
function listed(names: Iterable<unknown>): string {
  return [...names].join(', ') || 'none'
}

/**
 * Creates the listed chats or channels of a fake. If none are listed, `get` creates each accepted id when it is first
 * asked for. Any other unknown id is undefined. `add` replaces a place with the same id.
 */
export function createPlaces<Id, Options extends { readonly id: Id }, Place>(
  listed: readonly Options[] | undefined,
  create: (options: Options | { readonly id: Id }) => Place,
  accepts: (id: Id) => boolean = () => true,
): { readonly all: ReadonlyMap<Id, Place>; get(id: Id): Place | undefined; add(options: Options): Place } {
  const all = new Map<Id, Place>()
  /** Creates the place, in place of one with the same id. */
  const add = (options: Options | { readonly id: Id }): Place => {
    const place = create(options)
    all.set(options.id, place)
    return place
  }
  for (const options of listed ?? []) add(options)
  return { all, add, get: (id) => all.get(id) ?? (listed === undefined && accepts(id) ? add({ id }) : undefined) }
}
