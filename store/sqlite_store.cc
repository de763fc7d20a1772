#include "common/result.h"
