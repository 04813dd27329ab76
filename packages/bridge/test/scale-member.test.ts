import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startMember } from '../scripts/scale/member.ts'

/** Logs what a member with one shard does, says at an address that it continues, and logs a beat once it is told to. */
const program = `
const { existsSync } = require('node:fs')
const { join } = require('node:path')
const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n')
process.on('SIGCONT', () => process.stdout.write('Serving http://awake/healthz\\n'))
say({ type: 'shards', owned: ['00'], restoring: [] })
setInterval(() => existsSync(join(__dirname, 'beat')) && say({ type: 'beat', isLate: true }), 10)
`

test('the shards of a member that was stopped count once it has beaten again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reply-scale-'))
  const command = join(folder, 'member.cjs')
  writeFileSync(command, program)
  const member = startMember({ name: 'a', command, config: 'none', env: {}, log: join(folder, 'log') })
  try {
    await expect.poll(member.taking).toEqual(['00'])
    member.suspend(1)
    await expect.poll(member.url).toBe('http://awake')
    expect([member.isSuspended(), member.taking()]).toEqual([false, []])
    writeFileSync(join(folder, 'beat'), '')
    await expect.poll(member.taking).toEqual(['00'])
  } finally {
    await member.end()
    rmSync(folder, { recursive: true })
  }
})
