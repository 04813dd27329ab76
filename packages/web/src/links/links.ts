import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { ReplyError } from '@reply/core'
import type { PageGrant, PagePerson, PageRights } from '../serve/source.ts'
import { type LinkClaims, readClaims, writeClaims } from './inbound.ts'

/** What a link is for. */
export interface LinkInput {
  /** The run that it shows. It shows no other one. */
  readonly runID: string
  /** The person that it is made for. Answers with it count as theirs. */
  readonly person: PagePerson
  /** What it allows besides seeing the run. */
  readonly rights: PageRights
  /** When it ends, in ms since the epoch. Rounded up to a second. */
  readonly until: number
}

/** Signs and checks links to runs. */
export interface Links {
  /** Returns the token of a link. The same input gives the same token, so a message that has it doesn't change. */
  sign(input: LinkInput): string
  /**
   * Returns what the token allows for this run. `ended` for one that was valid until before `now`, and undefined for one of
   * another run, one that was changed, or any other text.
   */
  verify(token: string, runID: string, now: number): PageGrant | 'ended' | undefined
}

/** How links are signed. */
export interface LinksOptions {
  /**
   * At least 32 bytes, which only your processes know. To change it, put the new one in front of the old one: the first signs, all
   * are accepted. Remove the old one once its links have ended.
   */
  readonly secret: string | readonly string[]
}

/** Characters of a signature: 128 bits. */
const signatureLength = 22

const fewestBytes = 32

/** Longer ones are not looked at. */
const longestToken = 2000

/** Creates the links of a secret. Throws `invalid` if the secret is too short to be safe. */
export function createLinks({ secret }: LinksOptions): Links {
  const [newest, ...older] = readSecrets(secret)
  return { sign, verify }

  function sign({ runID, person, rights, until }: LinkInput): string {
    const claims = writeClaims({ person, rights, until: Math.ceil(until / 1000) * 1000 })
    return `${claims}.${signatureOf(newest, runID, claims)}`
  }

  function verify(token: string, runID: string, now: number): PageGrant | 'ended' | undefined {
    const [claims = '', signature = '', ...more] = token.length > longestToken ? [] : token.split('.')
    if (more.length > 0 || signature.length !== signatureLength) return undefined
    // Each secret is tried, so that the time doesn't tell which one fits.
    const fits = [newest, ...older].map((each) => isEqual(signature, signatureOf(each, runID, claims)))
    const read = fits.includes(true) ? readClaims(claims) : undefined
    if (!read) return undefined
    return read.until <= now ? 'ended' : grantOf(read, token)
  }
}

function grantOf({ person, rights, until }: LinkClaims, token: string): PageGrant {
  // A hash, because it is stored, and must not be usable as a token.
  const onceID = createHash('sha256').update(token).digest('base64url').slice(0, signatureLength)
  return { person, rights, until, onceID }
}

function signatureOf(secret: string, runID: string, claims: string): string {
  const text = JSON.stringify(['reply link 1', runID, claims])
  return createHmac('sha256', secret).update(text).digest('base64url').slice(0, signatureLength)
}

/** Compares in a time that does not depend on where the texts differ. */
function isEqual(a: string, b: string): boolean {
  const [bytesA, bytesB] = [Buffer.from(a), Buffer.from(b)]
  return bytesA.length === bytesB.length && timingSafeEqual(bytesA, bytesB)
}

function readSecrets(secret: string | readonly string[]): readonly [string, ...string[]] {
  const [newest, ...older] = typeof secret === 'string' ? [secret] : secret
  const isLong = (one: string): boolean => Buffer.byteLength(one) >= fewestBytes
  if (newest !== undefined && [newest, ...older].every(isLong)) return [newest, ...older]
  throw new ReplyError(
    'invalid',
    `A secret for links needs at least ${fewestBytes} bytes. Make one with: openssl rand -base64 32`,
  )
}
