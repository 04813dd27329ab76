import { sentenceOf } from '../text/sentence.ts'

// "at name (file:1:2)" or "at folder/file:1:2": a stack whose lines were joined.
const joinedStack = /\s+at\s(?:[^\s()]+\s){0,4}\([^()\s]*:\d+:\d+\)|\s+at\s[^\s()]*\/[^\s()]*:\d+:\d+/

/**
 * The message of an error in one line, without a stack below or behind it and without a leading "Error: ". If the
 * message holds JSON with an error, that error's message takes its place. Empty if the message is blank.
 */
export function reasonIn(message: string): string {
  const line = sentenceOf(message).replace(/\s+/g, ' ').trim()
  const stack = line.search(joinedStack)
  return (stack > 0 ? line.slice(0, stack) : line).replace(/^Error: (?=\S)/, '')
}
