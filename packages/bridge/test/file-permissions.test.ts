import { expect, test } from 'vitest'
import { isOnReadOnlyMount } from '../src/config/file-permissions.ts'

const mounts = [
  '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
  '63 22 254:0 /keys /etc/keys ro,relatime shared:1 - ext4 /dev/vda rw',
  '64 63 0:40 / /etc/keys/own rw,relatime - tmpfs tmpfs rw',
  '65 22 0:41 / /srv/my\\040keys ro,nosuid - tmpfs tmpfs rw',
  '66 22 0:42 / /srv/twice ro - tmpfs tmpfs rw',
  '67 22 0:42 / /srv/twice rw - tmpfs tmpfs rw',
  '',
].join('\n')

test.each([
  ['/etc/keys/token', true],
  ['/etc/keys', true],
  ['/srv/my keys/token', true],
  ['/etc/keys-too/token', false],
  ['/etc/keys/own/token', false],
  ['/srv/twice/token', false],
  ['/home/ann/token', false],
])('of %s, the deepest mount says whether it is for reading alone: %s', (path, isRead) => {
  expect(isOnReadOnlyMount(path, mounts)).toBe(isRead)
})
