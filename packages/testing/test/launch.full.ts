import { test } from 'vitest'
import { endProcess } from './ended-process.ts'

test('a process that ends by SIGTERM leaves no server and no folders behind', async () => {
  await endProcess('SIGTERM')
})
