import type { Event, Part } from '@opencode-ai/sdk/v2'
import type { Told } from './recorded.ts'

/**
 * Words that no reply's text may contain: the user's, the server's own, a summary's, those of reasoning. Excludes words
 * that the assistant says too.
 */
export function hiddenWords(sessions: readonly Told[], frames: readonly Event[]): ReadonlySet<string> {
  const all = sessions.flatMap((told) => told.messages)
  const answers = new Set(all.filter(isAnswer).map(({ info }) => info.id))
  const shown = new Set<string>()
  const hidden = new Set<string>()
  const isShown = new Map<string, boolean>()
  const add = (words: string, known: boolean): void => {
    for (const word of wordsOf(words)) (known ? shown : hidden).add(word)
  }
  for (const part of [...all.flatMap(({ parts }) => parts), ...framesParts(frames)]) {
    if (part.type !== 'text' && part.type !== 'reasoning') continue
    const known = part.type === 'text' && !part.synthetic && !part.ignored && answers.has(part.messageID)
    isShown.set(part.id, known)
    add(part.text, known)
  }
  for (const frame of frames) {
    if (frame.type !== 'message.part.delta') continue
    add(frame.properties.delta, isShown.get(frame.properties.partID) ?? false)
  }
  return new Set([...hidden].filter((word) => !shown.has(word)))
}

/** Words of four letters and more: shorter ones may be pieces cut off by a delta. */
export function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}{4,}/gu) ?? []
}

function isAnswer({ info }: Told['messages'][number]): boolean {
  return info.role === 'assistant' && info.summary !== true
}

function framesParts(frames: readonly Event[]): readonly Part[] {
  return frames.flatMap((frame) => (frame.type === 'message.part.updated' ? [frame.properties.part] : []))
}
