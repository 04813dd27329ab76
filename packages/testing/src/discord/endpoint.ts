import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { TestClock } from '../clock.ts'
import { TestingError } from '../error.ts'
import { type Fields, fieldsOf } from '../fields.ts'

/** Where interactions are sent instead of the gateway. */
export interface Endpoint {
  /** As Discord's portal shows it: 32 bytes in hex. */
  readonly publicKey: string
  /** The headers with which Discord signs a body. Default time: now. */
  signatureHeaders(body: string, atMs?: number): Readonly<Record<string, string>>
  /** Undefined if none is set. */
  readonly url: string | undefined
  /**
   * Sends interactions there from now on. Rejects with a `TestingError`, and keeps the former URL, unless the endpoint
   * answers a PING, and refuses one with a wrong signature, as Discord demands it.
   */
  setUrl(url: string): Promise<void>
  /**
   * Sends an interaction. Resolves with the answer, or undefined if no URL is set, or if the answer has another status
   * than 200 or no content. Rejects if the connection fails or the answer isn't JSON.
   */
  deliver(interaction: Fields): Promise<Fields | undefined>
}

/** Returns an endpoint without a URL, which signs with a new key pair. */
export function createEndpoint(clock: TestClock): Endpoint {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const publicHex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
  let current: string | undefined
  return {
    publicKey: publicHex,
    signatureHeaders: (body, atMs = clock.now()) => signatureHeadersOf(body, atMs, privateKey),
    get url() {
      return current
    },
    setUrl,
    deliver: async (interaction) => {
      if (current === undefined) return undefined
      const { status, answer } = await postSigned(current, JSON.stringify(interaction))
      return status === 200 ? answer : undefined
    },
  }

  /**
   * Sends interactions to this URL from now on. Rejects with a `TestingError`, and keeps the former URL, unless it
   * answers a PING and refuses a forged one. Rejects with fetch's error if the connection fails.
   */
  async function setUrl(url: string): Promise<void> {
    const ping = JSON.stringify({ id: '1', application_id: '1', type: 1, version: 1, token: 'ping' })
    const forged = await postSigned(url, ping, { 'x-signature-ed25519': '0'.repeat(128) })
    const { status, answer } = await postSigned(url, ping)
    if (forged.status !== 401 || status !== 200 || answer?.type !== 1) {
      const problem = `it answered a PING with ${status}, and a forged one with ${forged.status}`
      throw new TestingError('discord', `Discord did not accept ${url} for interactions: ${problem}.`)
    }
    current = url
  }

  /**
   * Resolves with the status and the parsed answer, undefined if it is empty. `otherHeaders` win over the signature.
   * Rejects if the connection fails or the answer isn't JSON.
   */
  async function postSigned(
    url: string,
    body: string,
    otherHeaders: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly answer: Fields | undefined }> {
    const headers = {
      'content-type': 'application/json',
      ...signatureHeadersOf(body, clock.now(), privateKey),
      ...otherHeaders,
    }
    const response = await fetch(url, { method: 'POST', body, headers })
    const text = await response.text()
    return { status: response.status, answer: text === '' ? undefined : fieldsOf(JSON.parse(text)) }
  }
}

/** The headers with which Discord signs a body at a time, in whole seconds. */
function signatureHeadersOf(body: string, atMs: number, key: KeyObject): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1000))
  const signature = sign(null, Buffer.from(timestamp + body), key).toString('hex')
  return { 'x-signature-ed25519': signature, 'x-signature-timestamp': timestamp }
}
