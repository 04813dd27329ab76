import type { QueuedPrompt } from '../intake/queued-prompt.ts'
import { plain } from '../markdown.ts'
import type { Route } from '../routes/decode.ts'
import type { BridgeContext } from './context.ts'

/** Posts what a person wrote in the chats that show the same session. What can't be posted is reported. */
export function tellMirrors(
  { mirrors, channels, words }: Pick<BridgeContext, 'mirrors' | 'channels' | 'words'>,
  prompt: QueuedPrompt,
  { server, sessionID }: Route,
): void {
  const { actor, files } = prompt
  const lines = [prompt.text, ...files.map(({ name }) => `📎 ${name}`)].join('\n').trim()
  const text = words.mirrored(plain(actor.name), plain(lines))
  const session = sessionID === undefined ? 'next' : { server, sessionID }
  for (const place of mirrors.others(prompt))
    if (channels.has(place.channel)) void channels.say(place, { text, silent: true }, session)
}
