import { observerOf, partsOf, type Reply, type ReplyError, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { run } from '../../src/command.ts'
import { isAlive } from '../watch.ts'

const sh = (script: string, options: Partial<Parameters<typeof run>[0]> = {}) =>
  run({ command: 'sh', args: ['-c', script], ...options })

const partsIn = (reply: Reply) => partsOf(reply).map((part) => [part.type, 'text' in part && part.text, part.raw])

describe('a command', () => {
  test('gives its output and its code, and completes its reply', async () => {
    const { reply, ...result } = await sh('echo hello')
    expect(result).toEqual({ stdout: 'hello\n', stderr: '', leftOut: { stdout: 0, stderr: 0 }, code: 0 })
    expect([reply.outcome, textOf(reply), reply.prompt?.text]).toEqual(['completed', 'hello\n', 'sh'])
  })

  test('that exits with another code fails its reply, which says so', async () => {
    const { reply, code } = await sh('exit 7')
    expect([code, reply.outcome, reply.error?.message]).toEqual([7, 'failed', 'sh exited with code 7.'])
  })

  test('that a signal ends fails its reply, which names the signal', async () => {
    const { reply, code, signal } = await sh('kill -SEGV $$')
    expect({ code, signal, message: reply.error?.message }).toEqual({
      code: undefined,
      signal: 'SIGSEGV',
      message: 'sh was ended by SIGSEGV.',
    })
  })

  test('reads its input, and ends it', async () => {
    expect((await run({ command: 'cat', input: 'äöü' })).stdout).toBe('äöü')
    expect((await run({ command: 'cat' })).stdout).toBe('')
  })

  test('has a part for each stretch of a stream, whose raw keeps the terminal sequences', async () => {
    const script = `printf '\\033[3'; sleep 0.05; printf '1mred\\033[0m'; sleep 0.05; echo no >&2; sleep 0.05; echo on`
    const { reply, stdout } = await sh(script)
    expect(partsIn(reply)).toEqual([
      ['text', 'red', { stream: 'stdout', data: '\u001b[31mred\u001b[0m' }],
      ['text', 'no\n', { stream: 'stderr', data: 'no\n' }],
      ['text', 'on\n', { stream: 'stdout', data: 'on\n' }],
    ])
    expect(stdout).toBe('\u001b[31mred\u001b[0mon\n')
    const streams = reply.messages.flatMap(({ parts }) => parts.map((part) => 'stream' in part && part.stream))
    expect(streams).toEqual([undefined, 'stderr', undefined])
  })

  test('is heard as it writes, in whole characters', async () => {
    const chunks: (readonly [string, string])[] = []
    const deltas: string[] = []
    const script = `printf '\\303'; sleep 0.05; printf '\\244'; sleep 0.05; printf 'b' >&2`
    await sh(script, {
      onChunk: (stream, text) => chunks.push([stream, text]),
      observe: () => [
        observerOf((change) => {
          if (change.type === 'partChanged' && change.delta !== undefined) deltas.push(change.delta)
        }),
      ],
    })
    expect(chunks).toEqual([
      ['stdout', 'ä'],
      ['stderr', 'b'],
    ])
    expect(deltas).toEqual(['ä', 'b'])
  })

  test('goes on when onChunk throws, which is reported', async () => {
    const errors: ReplyError[] = []
    const { stdout } = await sh('echo on', {
      onChunk: () => {
        throw new Error('Not mine.')
      },
      onError: (error) => errors.push(error),
    })
    expect([stdout, errors.map(({ type }) => type)]).toEqual(['on\n', ['observer']])
  })

  test('that is not there rejects at once', async () => {
    await expect(run({ command: 'no-such-command' })).rejects.toMatchObject({ type: 'unreachable' })
    await expect(run({ command: 'sh', cwd: '/no/folder' })).rejects.toThrow('the folder "/no/folder" does not exist')
  })
})

describe('a command that writes much', () => {
  test('is whole up to maxBytes', async () => {
    const { stdout, reply, leftOut } = await sh('head -c 1000 /dev/zero | tr "\\0" x', { maxBytes: 1000 })
    expect(stdout).toBe('x'.repeat(1000))
    expect(textOf(reply)).toBe(stdout)
    expect(leftOut).toEqual({ stdout: 0, stderr: 0 })
  })

  test('keeps its beginning and its end, and says what is missing', async () => {
    const { stdout, reply, leftOut } = await sh('seq 1 2000', { maxBytes: 400 })
    expect(stdout).toMatch(/^1\n2\n.*\n… 8,493 bytes left out …\n.*\n2000\n$/s)
    expect(textOf(reply)).toBe(stdout)
    expect(leftOut).toEqual({ stdout: 8493, stderr: 0 })
  })

  test('on both streams in turn has no more parts than can be shown', async () => {
    const { reply, stdout, stderr } = await run({
      command: process.execPath,
      args: [
        '-e',
        `const fs = require('node:fs'); for (let n = 0; n < 5000; n++) fs.writeSync(1 + (n % 2), n + '\\n')`,
      ],
    })
    expect(partsOf(reply).length).toBeLessThan(1100)
    expect(stdout.split('\n').length + stderr.split('\n').length).toBe(5002)
    expect(textOf(reply).replaceAll(/\s/g, '').length).toBe((stdout + stderr).replaceAll(/\s/g, '').length)
  })
})

describe('a command that is stopped', () => {
  test('by its signal is ended with its group, and its reply is aborted', async () => {
    const abort = new AbortController()
    let pid = 0
    const { reply, signal } = await sh('sleep 100 & echo $!; wait', {
      signal: abort.signal,
      onChunk: (_, text) => {
        pid = Number(text)
        abort.abort()
      },
    })
    expect([reply.outcome, signal, isAlive(pid)]).toEqual(['aborted', 'SIGTERM', false])
  })

  test('after silence is timed out; what it wrote is kept', async () => {
    const { reply, stdout } = await sh('echo begun; sleep 100', { timeoutMs: 1000 })
    expect([reply.outcome, stdout]).toEqual(['timed-out', 'begun\n'])
  })

  test('before it began never starts', async () => {
    await expect(sh('echo no', { signal: AbortSignal.abort() })).rejects.toMatchObject({ type: 'closed' })
  })
})
