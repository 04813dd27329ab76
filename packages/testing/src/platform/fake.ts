import { TestingError, type TestingFailure } from '../error.ts'

/** The members that every fake platform has. A place is a chat, a channel or a person, as the platform names it. */
export interface FakePlatform<Place, Call, Fault, Message, Kind = string> {
  /** Every accepted call so far, in order of arrival, whatever the response. Calls with a wrong token are not logged. */
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
  observe(observer: (place: Place) => void): () => void
  /** A person there now sees something else. */
  changed(place: Place): void
}

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

/** The message that a person acts on. Throws a `TestingError` that lists the ones on the screen. */
export function shownPost<Id, Post>(
  platform: TestingFailure,
  { id, place, posts }: { readonly id: Id; readonly place: string; readonly posts: ReadonlyMap<Id, Post> },
): Post {
  const post = posts.get(id)
  if (post !== undefined) return post
  throw new TestingError(platform, `${place} shows no message ${id}. It shows ${listed(posts.keys())}.`)
}

/** Names for an error message. */
export function listed(names: Iterable<unknown>): string {
  return [...names].join(', ') || 'none'
}
