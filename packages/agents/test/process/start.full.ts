import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProcess } from '../../src/command.ts'
import { isAlive, textOfStream } from '../watch.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reply-process-'))
})
afterAll(async () => await rm(folder, { recursive: true, force: true }))

const sh = (script: string, options: Partial<Parameters<typeof startProcess>[0]> = {}) =>
  startProcess({ command: 'sh', args: ['-c', script], graceMs: 1000, ...options })

describe('a child', () => {
  test('gives both outputs and its exit code', async () => {
    const child = await sh('echo out; echo err >&2; exit 3')
    const [out, err] = await Promise.all([textOfStream(child.stdout), textOfStream(child.stderr)])
    expect({ out, err, exit: await child.ended }).toEqual({ out: 'out\n', err: 'err\n', exit: { code: 3 } })
  })

  test('names the signal that ended it', async () => {
    const child = await sh('kill -KILL $$')
    expect(await child.ended).toEqual({ signal: 'SIGKILL' })
  })

  test('is told its folder by PWD, too', async () => {
    const child = await startProcess({ command: process.execPath, args: ['-p', 'process.env.PWD'], cwd: '/usr' })
    expect(await textOfStream(child.stdout)).toBe('/usr\n')
    const stale = process.env.PWD
    process.env.PWD = '/stale'
    try {
      const here = await startProcess({ command: process.execPath, args: ['-p', 'process.env.PWD'] })
      expect(await textOfStream(here.stdout)).toBe(`${process.cwd()}\n`)
    } finally {
      process.env.PWD = stale
    }
  })

  test('gets its folder, its arguments as they are, and variables added and removed', async () => {
    const child = await startProcess({
      command: 'sh',
      args: ['-c', 'pwd; echo "$1|$ADDED|$' + '{HOME-none}"', 'sh', '$(x) *'],
      cwd: '/',
      env: { ADDED: 'yes', HOME: undefined },
    })
    expect(await textOfStream(child.stdout)).toBe('/\n$(x) *|yes|none\n')
  })

  test('reads what is written, however much it is', async () => {
    const child = await sh('wc -c')
    await child.write('ä')
    for (let count = 0; count < 20; count++) await child.write(new Uint8Array(100_000))
    child.stdin.end()
    expect((await textOfStream(child.stdout)).trim()).toBe('2000002')
  })

  test('that is closed gently can write its files after the end of its input', async () => {
    const child = await sh('trap "exit 9" TERM; cat; echo kept')
    await child.closeGently()
    expect({ out: await textOfStream(child.stdout), exit: await child.ended }).toEqual({
      out: 'kept\n',
      exit: { code: 0 },
    })
  })

  test('that is closed gently and goes on is ended', async () => {
    const child = await sh('while :; do sleep 100; done')
    await child.closeGently()
    expect(await child.ended).toEqual({ signal: 'SIGTERM' })
  })

  test('holds a writer back until it reads', async () => {
    const child = await sh('sleep 100')
    let isTaken = false
    const writing = child.write(new Uint8Array(10_000_000)).then(
      () => {
        isTaken = true
      },
      (error: unknown) => error,
    )
    await child.close()
    expect(await writing).toMatchObject({ type: 'closed' })
    expect(isTaken).toBe(false)
  })

  test('is held back itself while nothing reads', async () => {
    const child = await sh('head -c 10000000 /dev/zero; echo done >&2')
    expect(child.stdout.readableLength).toBeLessThan(1_000_000)
    const [out, err] = await Promise.all([textOfStream(child.stdout), textOfStream(child.stderr)])
    expect([out.length, err]).toEqual([10_000_000, 'done\n'])
  })

  test('rejects a write after its end', async () => {
    const child = await sh('exit 0')
    await child.ended
    await expect(child.write('late')).rejects.toMatchObject({ type: 'closed' })
  })
})

describe('a group', () => {
  test('ends with its child, those that ignore SIGTERM too', async () => {
    const child = await sh('trap "" TERM; sh -c "trap \\"\\" TERM; echo \\$\\$; sleep 100; sleep 100" & wait', {
      graceMs: 50,
    })
    const [first] = await once(child.stdout, 'data')
    const grandchild = Number(String(first))
    expect(isAlive(grandchild)).toBe(true)
    await child.close()
    expect(await child.ended).toEqual({ signal: 'SIGKILL' })
    expect(isAlive(grandchild)).toBe(false)
  })

  test('has time to end by itself: what it writes meanwhile is kept', async () => {
    const child = await sh('trap "echo bye; exit 7" TERM; echo ready; while :; do sleep 0.01; done')
    await once(child.stdout, 'readable')
    await child.close()
    expect(await textOfStream(child.stdout)).toBe('ready\nbye\n')
    expect(await child.ended).toEqual({ code: 7 })
  })

  test('ends when the signal aborts, also one that is stopped', async () => {
    const abort = new AbortController()
    const child = await sh('kill -STOP $$', { signal: abort.signal })
    abort.abort()
    expect(await child.ended).toEqual({ signal: 'SIGTERM' })
  })

  test('does not outlive a child that leaves it behind', async () => {
    const child = await sh('sleep 100 & echo $!', { graceMs: 50 })
    const sleeping = Number(await textOfStream(child.stdout))
    expect(await child.ended).toEqual({ code: 0 })
    expect(isAlive(sleeping)).toBe(false)
  })

  test('that a process left does not keep the output open', async () => {
    const child = await startProcess({
      command: process.execPath,
      args: [
        '-e',
        `const one = require('node:child_process').spawn('sleep', ['100'], { detached: true, stdio: 'inherit' })
        console.log(one.pid); process.exit()`,
      ],
      graceMs: 100,
    })
    const sleeping = Number(await textOfStream(child.stdout))
    expect(await child.ended).toEqual({ code: 0 })
    expect(isAlive(sleeping)).toBe(true)
    process.kill(sleeping, 'SIGKILL')
  })

  test('ends when the host is killed', async () => {
    const start = fileURLToPath(new URL('../../src/process/start-process.ts', import.meta.url))
    const code = `import { startProcess } from ${JSON.stringify(start)}
      const child = await startProcess({ command: 'sh', args: ['-c', 'sleep 100 & echo $$ $!; wait'], graceMs: 100 })
      child.stdout.pipe(process.stdout)`
    const host = spawn(
      process.execPath,
      ['--import', 'tsx', '--conditions=@reply/source', '--input-type=module', '-e', code],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const [line] = await once(host.stdout, 'data')
    const pids = String(line).trim().split(' ').map(Number)
    expect(pids.map(isAlive)).toEqual([true, true])
    host.kill('SIGKILL')
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false])
  })
})

describe('a command that cannot start', () => {
  test('is not there', async () => {
    const start = startProcess({ command: 'no-such-command', args: ['--token=secret'] })
    await expect(start).rejects.toMatchObject({
      type: 'unreachable',
      message: 'The command "no-such-command" was not found. Install it, or give its full path.',
    })
  })

  test('has no folder', async () => {
    const start = startProcess({ command: 'sh', cwd: `${folder}/none` })
    await expect(start).rejects.toThrow(
      `because the folder "${folder}/none" does not exist. Create it, or pass another cwd.`,
    )
  })

  test('is not executable, or its interpreter is missing', async () => {
    const file = join(folder, 'script')
    await writeFile(file, '#!/no/such/interpreter\n')
    await expect(startProcess({ command: file })).rejects.toThrow('is not executable. Run chmod +x on it')
    await chmod(file, 0o755)
    await expect(startProcess({ command: file })).rejects.toThrow('the interpreter in its first line was not found')
  })

  test('has an impossible argument, which is not shown', async () => {
    const start = startProcess({ command: 'sh', args: ['secret\0'] })
    await expect(start).rejects.toMatchObject({ type: 'unreachable' })
    await expect(start).rejects.not.toThrow('secret')
  })

  test('has no free file descriptor, however many are missing', async () => {
    const start = fileURLToPath(new URL('../../src/process/start-process.ts', import.meta.url))
    const code = `import { closeSync, openSync } from 'node:fs'
      import { startProcess } from ${JSON.stringify(start)}
      const outcomeOf = async () => {
        try {
          await (await startProcess({ command: 'true' })).close()
          return 'started'
        } catch (error) {
          return error.type
        }
      }
      const taken = []
      const outcomes = []
      for (let free = 0; free < 16; free++) {
        try {
          for (;;) taken.push(openSync('/dev/null'))
        } catch {
          taken.splice(0, free).forEach(closeSync)
        }
        outcomes.push(await outcomeOf())
      }
      console.log(outcomes.join(' '))`
    const args = ['--import', 'tsx', '--conditions=@reply/source', '--input-type=module', '-e', code]
    const host = spawn('sh', ['-c', 'ulimit -n 200 && exec "$0" "$@"', process.execPath, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    expect((await textOfStream(host.stdout)).trim()).toMatch(/^unreachable (?:unreachable |started )+started$/)
  })

  test('was aborted before', async () => {
    await expect(sh('exit', { signal: AbortSignal.abort() })).rejects.toMatchObject({ type: 'closed' })
  })
})
