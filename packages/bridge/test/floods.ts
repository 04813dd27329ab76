import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { forgedHeaders } from './forged-headers.ts'
import { bundleFixture, type Running, run } from './process.ts'

const million = Buffer.alloc(1_000_000, 'a')

/** A program, the platform that requests are for, whether they have a signature, and the most that its memory may grow by, in MB. */
export type Flood = readonly [what: 'bridge' | 'pairing', channel: string, kind: 'unsigned' | 'forged', mostMB: number]

/** Floods programs with requests. */
export function testFloods(floods: readonly Flood[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'reply-door-'))
  let script = ''
  beforeAll(async () => {
    script = await bundleFixture('serve-limits', folder)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(floods)(
    'a %s holds 400 requests of 1 MB to %s that are %s in less than %i MB',
    async (what, channel, kind, mostMB) => {
      const door = run(script, what)
      try {
        const url = await line(door, 0)
        const before = await highest(door)
        const sockets = await flood(new URL(url), channel, kind === 'forged' ? forgedHeaders(channel) : {})
        // It still answers: what was sent before is handled.
        await fetch(`${url}/healthz`).then(async (response) => await response.text())
        const grown = Math.round(((await highest(door)) - before) / 1024)
        for (const socket of sockets) socket.destroy()
        expect(grown).toBeLessThan(mostMB)
      } finally {
        door.child.kill('SIGKILL')
        await door.ended
      }
    },
  )
}

/** Sends all but the last byte of each body, so that a server that waits for whole bodies holds all of them. */
async function flood({ hostname, port }: URL, channel: string, headers: object): Promise<readonly Socket[]> {
  const lines = Object.entries({ 'content-type': 'application/json', ...headers }).map(
    ([key, value]) => `${key}: ${value}`,
  )
  const head = [`POST /webhooks/${channel} HTTP/1.1`, 'host: x', ...lines, `content-length: ${million.length}`]
  const sockets = Array.from({ length: 400 }, () => connect(Number(port), hostname))
  await Promise.all(
    sockets.map(
      async (socket) =>
        await new Promise<void>((resolve) => {
          // Refused ones are cut; the others take it all.
          socket.on('error', () => {}).on('close', () => resolve())
          socket.write(`${head.join('\r\n')}\r\n\r\n`)
          socket.write(million.subarray(1), () => resolve())
        }),
    ),
  )
  return sockets
}

async function highest(door: Running): Promise<number> {
  const count = door.lines.length
  door.child.kill('SIGUSR2')
  return Number(await line(door, count))
}

async function line({ lines }: Running, at: number): Promise<string> {
  await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThan(at)
  return lines[at] ?? ''
}
