import type * as z from 'zod'

/** How the sentences of the schema library itself begin; all others are ours. */
const foreign = /^(?:Invalid|Unrecognized|Too (?:small|big))/

const kinds: Readonly<Record<string, string>> = {
  object: 'an object: { … }',
  record: 'an object: { … }',
  array: 'a list: [ … ]',
  string: 'a text: "…"',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/** A finding in words for people, with its cure. `found`: the value there; undefined if there is none. */
export function faultWords(issue: z.core.$ZodIssue, found: unknown): string {
  return (foreign.test(issue.message) ? ownWords(issue, found) : undefined) ?? issue.message.replace(/[.:]?$/, '.')
}

function ownWords(issue: z.core.$ZodIssue, found: unknown): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `${found === undefined ? 'It is missing. ' : ''}Write ${kinds[issue.expected] ?? issue.expected}.`
    case 'invalid_value':
      return `${found === undefined ? 'It is missing. ' : ''}Write ${list(issue.values.map((one) => JSON.stringify(one)))}.`
    case 'unrecognized_keys':
      return `It has no field ${list(issue.keys.map((key) => `"${key}"`))}. Correct the name, or remove it.`
    case 'too_small':
      return sizeWords(issue.origin, `at least ${issue.minimum}`)
    case 'too_big':
      return sizeWords(issue.origin, `at most ${issue.maximum}`)
    default:
      return undefined
  }
}

function sizeWords(origin: string, size: string): string {
  if (origin === 'number' || origin === 'int') return `Write ${size}.`
  return origin === 'string' ? `Write ${size} character${/ 1$/.test(size) ? '' : 's'}.` : `Name ${size}.`
}

const list = (words: readonly string[]): string => words.join(' or ')
