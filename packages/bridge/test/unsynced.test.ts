import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { bundleFixture } from './process.ts'

/** Has the disk fail to sync from when a file exists. */
const library = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int made(const char *name, int fd) {
  const char *failing = getenv("FAIL_SYNC");
  if (failing && access(failing, F_OK) == 0) { errno = EIO; return -1; }
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(fd);
}
int fsync(int fd) { return made("fsync", fd); }
int fdatasync(int fd) { return made("fdatasync", fd); }
`

const canCompile = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

test.skipIf(!canCompile)(
  'a commit that the disk failed to sync is not made, also after a crash (needs cc)',
  async () => {
    const root = mkdtempSync(join(tmpdir(), 'reply-bridge-'))
    const [source, preload, failing, folder] = ['sync.c', 'sync.so', 'failing', 'state'].map((name) => join(root, name))
    if (!source || !preload || !failing || !folder) throw new Error('Four were named.')
    writeFileSync(source, library)
    execFileSync('cc', ['-shared', '-fPIC', '-o', preload, source, '-ldl'])
    const script = await bundleFixture('unsynced', root)
    const env = { ...process.env, LD_PRELOAD: preload, FAIL_SYNC: failing }
    const { stdout } = spawnSync(process.execPath, [script, folder, failing], { env, encoding: 'utf8' })
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      'done',
      expect.stringContaining('the disk reports an error'),
      'undefined',
    ])
    const store = await sqliteStore({ folder })
    expect([await store.read('synced'), await store.read('unsynced')]).toEqual(['1', undefined])
    await store.close()
    rmSync(root, { recursive: true })
  },
)
