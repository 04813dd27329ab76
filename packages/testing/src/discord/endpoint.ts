import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { TestClock } from '../clock.ts'
import { TestingError } from '../error.ts'
import { type Fields, fieldsOf } from '../fields.ts'

/** Where interactions are sent instead of the gateway. */
export interface Endpoint {
  /** As Discord's portal shows it: 32 bytes in hex. */
  readonly publicKey: string
  /** The headers with which Discord signs a body. Default time: now. */
  signed(body: string, atMs?: number): Readonly<Record<string, string>>
  /** Undefined if none is set. */
  readonly url: string | undefined
  /** Validated as Discord does it: the endpoint must answer a PING, and refuse one with a wrong signature. */
  set(url: string): Promise<void>
  /** Undefined if the endpoint answered without content. */
  deliver(interaction: Fields): Promise<Fields | undefined>
}

export function createEndpoint(clock: TestClock): Endpoint {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const publicHex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
  let current: string | undefined
  return {
    publicKey: publicHex,
    signed: (body, atMs = clock.now()) => headersOf(body, atMs, privateKey),
    get url() {
      return current
    },
    set,
    deliver: async (interaction) => {
      if (current === undefined) return undefined
      const { status, answer } = await post(current, JSON.stringify(interaction))
      return status === 200 ? answer : undefined
    },
  }

  async function set(url: string): Promise<void> {
    const ping = JSON.stringify({ id: '1', application_id: '1', type: 1, version: 1, token: 'ping' })
    const forged = await post(url, ping, { 'x-signature-ed25519': '0'.repeat(128) })
    const { status, answer } = await post(url, ping)
    if (forged.status !== 401 || status !== 200 || answer?.type !== 1) {
      const problem = `it answered a PING with ${status}, and a forged one with ${forged.status}`
      throw new TestingError('discord', `Discord did not accept ${url} for interactions: ${problem}.`)
    }
    current = url
  }

  async function post(url: string, body: string, more: Readonly<Record<string, string>> = {}) {
    const headers = { 'content-type': 'application/json', ...headersOf(body, clock.now(), privateKey), ...more }
    const response = await fetch(url, { method: 'POST', body, headers })
    const text = await response.text()
    return { status: response.status, answer: text === '' ? undefined : fieldsOf(JSON.parse(text)) }
  }
}

function headersOf(body: string, atMs: number, key: KeyObject): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1000))
  const signature = sign(null, Buffer.from(timestamp + body), key).toString('hex')
  return { 'x-signature-ed25519': signature, 'x-signature-timestamp': timestamp }
}
