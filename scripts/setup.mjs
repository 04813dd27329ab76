// Runs before `npm start` and `npm test`, on a clone where nothing is installed yet: Node built-ins only.
// Installs what is missing and builds what is older than its sources. Does nothing, quickly, when all is there. With
// --bench, it also installs and builds the benchmarks and the projects that they are compared with. With --peers, it also installs
// what the tests of front ends and their agents run.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const oldest = [20, 19]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  fail(`reply needs Node ${oldest.join('.')} or newer; this is ${process.versions.node}.`)
}

/** The last file of scripts/bundle.mjs. */
const bundled = 'packages/web/dist/page/r/index.html'
const tsc = ['node_modules/typescript/bin/tsc', '-b']

install('.', 'the packages (once; about 600 MB, 180 of them an OpenCode server to show and test against)')
if (isOutdated(packages()) || timeOf(bundled) < newestSource(packages())) {
  build(packages(), 'Building', tsc)
  run('Bundling', process.execPath, ['scripts/bundle.mjs'])
}
if (process.argv.includes('--peers')) {
  install('scripts/peers', 'front ends and agents of others to test with (once; about 800 MB)')
}
if (process.argv.includes('--bench')) {
  install('packages/bench', "the benchmarks' peers (once; about 100 MB)")
  if (isOutdated(['bench'])) build(['bench'], 'Building the benchmarks', [...tsc, 'packages/bench'])
}

/**
 * Installs a folder's packages, and prints `description` first. Does nothing if they were installed after the lock file
 * changed. Ends the process if that fails.
 */
function install(folder, description) {
  if (timeOf(`${folder}/node_modules/.package-lock.json`) >= timeOf(`${folder}/package-lock.json`)) return
  run(
    `Installing ${description}`,
    'npm',
    ['ci', '--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error'],
    folder,
  )
}

/** Prints the title, runs the compiler, and notes that these packages are built now. Ends the process if that fails. */
function build(names, title, args) {
  run(title, process.execPath, args)
  // The compiler leaves these files as they are if only a package.json changed.
  for (const name of names) utimesSync(join(root, buildInfo(name)), new Date(), new Date())
}

/** Whether the build of one of these packages is older than a source of any of them, or missing. */
function isOutdated(names) {
  return newestSource(names) > oldestBuild(names)
}

/** Returns when the newest of the packages' sources and configs was modified, in ms since the epoch. */
function newestSource(names) {
  const times = names.flatMap((name) => [
    ...filesBelow(`packages/${name}/src`).map(timeOf),
    ...filesBelow(`packages/${name}/page`).map(timeOf),
    timeOf(`packages/${name}/package.json`),
    timeOf(`packages/${name}/tsconfig.json`),
  ])
  return Math.max(timeOf('tsconfig.json'), ...times)
}

/** Returns when the package that was built longest ago was built, in ms since the epoch. 0 if one was never built. */
function oldestBuild(names) {
  return Math.min(...names.map((name) => timeOf(buildInfo(name))))
}

/** Returns the path of the file that the compiler writes at each build of a package, from the root. */
function buildInfo(name) {
  return `packages/${name}/dist/.tsbuildinfo`
}

/** Returns the names of the packages that are built together: all but the benchmarks, which are built only when they run. */
function packages() {
  const isBuilt = (name) => name !== 'bench' && existsSync(join(root, 'packages', name, 'tsconfig.json'))
  return readdirSync(join(root, 'packages')).filter(isBuilt)
}

/** Returns the paths of all files below a folder, from the root. */
function filesBelow(folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length))
}

/** Returns when a file was modified, in ms since the epoch. 0 if there is none. */
function timeOf(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Prints the title and runs a command, with its output on standard error. Ends the process if it fails. */
function run(title, command, args, folder = '.') {
  process.stderr.write(`${title} …\n`)
  const { status, error } = spawnSync(command, args, {
    cwd: join(root, folder),
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status === 0) return
  fail(
    `"${command} ${args.join(' ')}" failed${error ? `: ${error.message}` : ''}. Its output is above; try running it by hand.`,
  )
}

/** Prints the message and ends the process with exit code 1. */
function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
