import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'

const fileOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))
const hasSystemd = existsSync('/usr/bin/systemd-analyze')

/** What systemd finds wrong with a unit, as it reads it before a start. */
function faultsOf(change: (unit: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), 'reply-unit-'))
  const unit = join(folder, 'reply-bridge.service')
  copyFileSync(fileOf('reply-bridge.service'), unit)
  // The program's own path may differ from the one of an operator's computer.
  writeFileSync(unit, change(readFileSync(unit, 'utf8').replace('/usr/bin/node', process.execPath)))
  const { stderr, status } = spawnSync('/usr/bin/systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return `${status === 0 ? '' : `exit ${status}: `}${stderr.includes(unit) || status !== 0 ? stderr : ''}`
}

test('the Dockerfile has no fault', () => {
  const text = readFileSync(fileOf('Dockerfile'), 'utf8')
  expect(validate(text)).toEqual([])
  expect(validate(text.replace('WORKDIR', 'WORKDIRS'))).not.toEqual([])
})

test.skipIf(!hasSystemd)('the unit has no fault for systemd, which this needs', () => {
  expect(faultsOf((unit) => unit)).toBe('')
  expect(faultsOf((unit) => unit.replace('Restart=on-failure', 'Restart=sometimes'))).not.toBe('')
})

test.skipIf(!hasSystemd)('the unit is hardened, as systemd itself judges: 0 is closed, 10 open', () => {
  const args = ['security', '--offline=yes', '--no-pager', '--threshold=20', fileOf('reply-bridge.service')]
  const { status, stdout } = spawnSync('/usr/bin/systemd-analyze', args, { encoding: 'utf8' })
  expect(stdout).toMatch(/Overall exposure level for reply-bridge\.service: \d\.\d OK/)
  expect(status).toBe(0)
})

test('the image and its packages are exact versions, and no package runs a script', () => {
  const words = readFileSync(fileOf('Dockerfile'), 'utf8')
  expect(words).toMatch(/^FROM node:\d+\.\d+\.\d+-[a-z]+-slim$/m)
  expect(words.match(/^RUN npm .*/gm)).toEqual([expect.stringMatching(/^RUN npm ci --omit=dev --ignore-scripts /)])
  expect(readFileSync(fileOf('../../.ci/run'), 'utf8')).toMatch(/^npm ci --ignore-scripts /m)
  expect(readFileSync(fileOf('../../scripts/setup.mjs'), 'utf8')).toContain("['ci', '--ignore-scripts',")
})

test('a container can keep voice notes for a moment, and removes what killed programs leave', () => {
  const [command = ''] = /^# {3}docker run .*$/m.exec(readFileSync(fileOf('Dockerfile'), 'utf8')) ?? []
  for (const option of ['--init', '--read-only', '--tmpfs /tmp']) expect(command).toContain(option)
})

test('the command and its options in both files are those of the program', () => {
  for (const name of ['Dockerfile', 'reply-bridge.service']) {
    const words = readFileSync(fileOf(name), 'utf8')
    expect(words).toMatch(/reply\.mjs"?,? "?bridge"?,? "?--config/)
    expect(words).toMatch(/--log"?,? "?--listen/)
  }
})

test('both files limit the heap as the benchmark of the memory does', () => {
  const limit = /--max-old-space-size=\d+/
  const benchmark = readFileSync(fileOf('../bench/src/main.ts'), 'utf8')
  const [wanted] = limit.exec(benchmark) ?? []
  expect(wanted).toBeDefined()
  for (const name of ['Dockerfile', 'reply-bridge.service']) {
    expect(limit.exec(readFileSync(fileOf(name), 'utf8'))).toContain(wanted)
  }
})
