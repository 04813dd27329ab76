// Runs before `npm start` and `npm test`, on a clone where nothing is installed yet: Node built-ins only.
// Installs what is missing and builds what is older than its sources; does nothing, quickly, when all is there.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const oldest = [20, 19]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  fail(`reply needs Node ${oldest.join('.')} or newer; this is ${process.versions.node}.`)
}

if (timeOf('node_modules/.package-lock.json') < timeOf('package-lock.json')) {
  const isRepeatable = existsSync(join(root, 'package-lock.json'))
  // `prepare` builds as part of it.
  run('Installing the packages (once; about 500 MB, 180 of them an OpenCode server to show and test against)', 'npm', [
    isRepeatable ? 'ci' : 'install',
    '--no-fund',
    '--no-audit',
    '--loglevel=error',
  ])
}
if (newestSource() > oldestBuild()) run('Building', process.execPath, ['node_modules/typescript/bin/tsc', '-b'])

/** The newest modification time of the build's input files. */
function newestSource() {
  const times = packages().flatMap((name) => [
    ...filesBelow(`packages/${name}/src`).map(timeOf),
    timeOf(`packages/${name}/package.json`),
    timeOf(`packages/${name}/tsconfig.json`),
  ])
  return Math.max(timeOf('tsconfig.json'), ...times)
}

/** The compiler updates this file in every build, even if no other output changes. */
function oldestBuild() {
  return Math.min(...packages().map((name) => timeOf(`packages/${name}/dist/.tsbuildinfo`)))
}

function packages() {
  return readdirSync(join(root, 'packages')).filter((name) => existsSync(join(root, 'packages', name, 'tsconfig.json')))
}

function filesBelow(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length))
}

/** In ms; 0 for a file that isn't there. */
function timeOf(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function run(what, command, args) {
  process.stderr.write(`${what} …\n`)
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status === 0) return
  fail(
    `"${command} ${args.join(' ')}" failed${error ? `: ${error.message}` : ''}. Its output is above; try running it by hand.`,
  )
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
