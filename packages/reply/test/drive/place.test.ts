import { vi } from 'vitest'
import { testPlaces } from './matrix/place.ts'

vi.setConfig({ testTimeout: 60_000 })

testPlaces('1.18.33')
