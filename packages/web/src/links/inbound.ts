import * as z from 'zod'
import type { PagePerson, PageRights } from '../serve/source.ts'

/** What a token says. */
export interface LinkClaims {
  readonly person: PagePerson
  readonly rights: PageRights
  /** In ms since the epoch, whole seconds. */
  readonly until: number
}

/** A list instead of an object, because the token is part of an address that people see. */
const schema = z.tuple([z.string(), z.string(), z.int().min(0).max(3), z.int()])

/** Longer names are cut. */
const longestName = 40

/** Returns the claims as a text of letters, digits, `-` and `_`. Equal claims give the same text. */
export function writeClaims({ person, rights, until }: LinkClaims): string {
  const name = [...person.name].slice(0, longestName).join('')
  const bits = (rights.answer ? 1 : 0) + (rights.stop ? 2 : 0)
  return Buffer.from(JSON.stringify([person.id, name, bits, until / 1000])).toString('base64url')
}

/** Reads what `writeClaims` wrote. Undefined for anything else. */
export function readClaims(text: string): LinkClaims | undefined {
  const result = schema.safeParse(parsed(Buffer.from(text, 'base64url').toString()))
  if (!result.success) return undefined
  const [id, name, bits, until] = result.data
  return {
    person: { id, name },
    rights: { answer: (bits & 1) !== 0, stop: (bits & 2) !== 0 },
    until: until * 1000,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
