import { Writable } from 'node:stream'
import { type OpencodeServer, promptFor } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import type { ProcessIO } from '../src/cli/process-io.ts'
import { fakeProcess } from './fixture/io.ts'

const until = (condition: () => boolean | Promise<boolean>) => expect.poll(condition, { interval: 20 }).toBe(true)

/** How the command ends, and which password it sends, on a real server that requires one. */
export function testExitSignals(server: () => OpencodeServer, password: string): void {
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`

  function start(args: readonly string[], { env = {}, ...given }: Partial<ProcessIO> = {}) {
    const fake = fakeProcess({ env: { OPENCODE_SERVER_PASSWORD: password, ...env } })
    return {
      ...fake,
      done: main([...args, '--directory', server().directory], { ...fake.io, ...given, env: fake.io.env }),
    }
  }

  /** Whether the server is working on anything. */
  async function isBusy(): Promise<boolean> {
    const url = `${server().url}/session/status?directory=${encodeURIComponent(server().directory)}`
    const response = await fetch(url, { headers: { authorization } })
    return Object.keys((await response.json()) as object).length > 0
  }

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s aborts what prompt started and ends with %i', async (signal, code) => {
    const prompt = start(['prompt', '--changes', promptFor('abort-text'), '--url', server().url])
    await until(() => prompt.stdout().includes('"delta"'))
    prompt.signal(signal)
    expect(await prompt.done).toBe(code)
    expect(await isBusy()).toBe(false)
    expect(prompt.stdout()).toContain('"outcome":"aborted"')
    expect(prompt.listening()).toBe(0)
  })

  test('a reader that leaves aborts what prompt started, and ends with 141', async () => {
    let heard = ''
    const stdout = new Writable({
      write(chunk, _, done) {
        heard += String(chunk)
        if (!heard.includes('"delta"')) return done()
        done(Object.assign(new Error('EPIPE: it failed'), { code: 'EPIPE' }))
      },
    })
    const prompt = start(['prompt', '--changes', promptFor('abort-text'), '--url', server().url], { stdout })
    expect(await prompt.done).toBe(141)
    expect(await isBusy()).toBe(false)
    expect(prompt.stderr()).toBe('')
  })

  describe('the server and its password', () => {
    test('come from the environment if no --url is given', async () => {
      const prompt = start(['prompt', promptFor('plain')], { env: { OPENCODE_URL: server().url } })
      expect(await prompt.done).toBe(0)
      expect(prompt.stdout()).toContain('Hello!')
    })

    test('a password in --url takes precedence over the environment', async () => {
      const url = server().url.replace('//', `//opencode:${password}@`)
      const prompt = start(['prompt', promptFor('plain'), '--url', url], { env: { OPENCODE_SERVER_PASSWORD: 'other' } })
      expect(await prompt.done).toBe(0)
      expect(prompt.stdout() + prompt.stderr()).not.toContain(password)
    })

    test('a refused password says what to set, and shows no password', async () => {
      const prompt = start(['prompt', 'Hello', '--url', server().url], {
        env: { OPENCODE_SERVER_PASSWORD: 'wrong-one' },
      })
      expect(await prompt.done).toBe(1)
      expect(prompt.stderr()).toBe(
        `reply: ${server().url} rejected the credentials (401): set OPENCODE_SERVER_PASSWORD to the server's password, and OPENCODE_SERVER_USERNAME if the server has one. For OpenCode 2, set OPENCODE_PASSWORD to the output of \`opencode service get password\`.\n`,
      )
    })

    test('a server that requires a password says so if none was sent', async () => {
      const prompt = start(['prompt', 'Hello', '--url', server().url], { env: { OPENCODE_SERVER_PASSWORD: '' } })
      expect(await prompt.done).toBe(1)
      expect(prompt.stderr()).toContain('requires a password (401): set OPENCODE_SERVER_PASSWORD')
    })
  })
}
