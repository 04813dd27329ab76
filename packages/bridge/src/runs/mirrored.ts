import { namesOf, type QueuedPrompt } from '../intake/queued-prompt.ts'
import { plain } from '../markdown.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import type { Route } from '../routes/decode.ts'
import { atMost } from './at-most.ts'
import type { BridgeContext } from './context.ts'

/** By the keys of places: resolves when the place shows a person's words, or takes too long. Never rejects. */
export type Told = ReadonlyMap<string, Promise<void>>

/** How long the reply in a mirror waits for the words that it answers, in ms. */
const tellMs = 5000

/** Posts what a person wrote in the chats that show the same session. What can't be posted is reported. */
export function tellMirrors(
  { mirrors, channels, words, clock }: Pick<BridgeContext, 'mirrors' | 'channels' | 'words' | 'clock'>,
  prompt: QueuedPrompt,
  { server, sessionID }: Route,
): Told {
  const lines = [prompt.text, ...prompt.files.map(({ name }) => `📎 ${name}`)].join('\n').trim()
  const text = words.mirrored(plain(namesOf(prompt)), plain(lines))
  const session = sessionID === undefined ? 'next' : { server, sessionID }
  const tell = (place: ChatPlace): Promise<void> =>
    atMost(channels.say(place, { text, silent: true }, session), tellMs, clock)
  const others = mirrors.others(prompt).filter(({ channel }) => channels.has(channel))
  return new Map(others.map((place) => [placeKey(place), tell(place)]))
}
