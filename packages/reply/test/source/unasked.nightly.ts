import { openCode2Version } from '@reply/testing'
import { testUnasked } from './live-unasked.ts'

for (const version of ['1.1.65', '1.14.41', '1.18.33', openCode2Version]) testUnasked(version, { runs: 100 })
