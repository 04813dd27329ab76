import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onFreePort, type PostgresServer } from '@reply/testing/internal'
import { connected } from './stage.ts'

/** Whether PgBouncer is on this machine. */
export const hasPooler = (): boolean => spawnSync('pgbouncer', ['--version']).status === 0

/** Starts PgBouncer in transaction mode in front of a server, and resolves when it accepts connections. */
export async function startPooler(
  server: PostgresServer,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const { username, password, hostname, port } = new URL(server.url)
  const folder = join(server.root, 'pooler')
  mkdirSync(folder)
  // It refuses to run as root, and changes to this user.
  const user = process.getuid?.() === 0 ? 'nobody' : undefined
  writeFileSync(join(folder, 'users'), `"${username}" "${password}"\n`)
  chmodSync(server.root, 0o755)
  let stop = async (): Promise<void> => {}
  const { port: ownPort } = await onFreePort(async (free) => {
    const settings = {
      listen_addr: '127.0.0.1',
      listen_port: free,
      unix_socket_dir: '',
      auth_type: 'scram-sha-256',
      auth_file: join(folder, 'users'),
      admin_users: username,
      pool_mode: 'transaction',
      // Fewer than the stores have connections.
      default_pool_size: 3,
      // It does not try again before that, in seconds.
      server_login_retry: 0,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
    const file = join(folder, 'pgbouncer.ini')
    writeFileSync(file, `[databases]\n* = host=${hostname} port=${port}\n[pgbouncer]\n${lines.join('\n')}\n`)
    const child = spawn('pgbouncer', ['-q', ...(user ? ['-u', user] : []), file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    stop = async () => {
      child.kill('SIGINT')
      await ended
    }
    for (let isReady = false; !isReady; await sleep(20)) {
      if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${output}`)
      isReady = await connected(server.url.replace(`:${port}/`, `:${free}/`)).then(
        async (client) => await client.end().then(() => true),
        () => false,
      )
    }
  })
  return { url: server.url.replace(`:${port}/`, `:${ownPort}/`), stop }
}
